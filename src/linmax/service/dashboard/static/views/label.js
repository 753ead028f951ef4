// A form for the label of an item: a button per class with a key from 1 to 9, and the last label can be replaced.

import { fusionPath, request } from "../api.js";
import { field, h, notify, select } from "../dom.js";

const KEYS = 9;

/**
 * @typedef {string | number | boolean} Class
 * @typedef {{id: string, label: Class | null, probabilities?: Record<string, number>}} LabelItem
 */

/**
 * A form that labels one item. Without a label the item gets one; with one, it is replaced.
 * @param {string} name of the fusion
 * @param {Class[]} classes
 * @param {LabelItem} item
 * @param {(label: Class, before: Class | null) => void} done
 * @returns {{element: HTMLElement, stop: () => void}}
 */
export function labelForm(name, classes, item, done) {
  const likely = item.probabilities ?? {};
  const order = [...classes].sort((a, b) => (likely[String(b)] ?? 0) - (likely[String(a)] ?? 0));
  const offered = classes.length <= KEYS ? classes : order.slice(0, KEYS);
  let busy = false;

  /** @param {Class} label */
  async function give(label) {
    if (busy || label === item.label) return;
    busy = true;
    try {
      const before = item.label;
      await sendLabel(name, item.id, label, before);
      done(label, before);
    } catch (error) {
      notify(`The label was not accepted: ${error instanceof Error ? error.message : error}.`);
    }
    busy = false;
  }

  /** @param {KeyboardEvent} event */
  function pressed(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (event.target instanceof HTMLElement && event.target.closest("input, select, textarea")) return;
    const label = offered[Number(event.key) - 1];
    if (/^[1-9]$/.test(event.key) && label !== undefined) {
      event.preventDefault();
      give(label);
    }
  }
  document.addEventListener("keydown", pressed);
  const buttons = offered.map((label, i) =>
    h("button", { type: "button", "aria-pressed": item.label === label ? "true" : null, "aria-keyshortcuts": String(i + 1), onclick: () => give(label) },
      h("span", { class: "key", "aria-hidden": "true" }, String(i + 1)), String(label)));
  const parts = [h("div", { class: "answers", role: "group", "aria-label": item.label === null ? "Label" : "Replace the label" }, buttons)];
  if (classes.length > KEYS) {
    const all = select([{ value: "", label: "Choose" }, ...classes.map((one, i) => ({ value: String(i), label: String(one) }))], "", (value) => value && give(classes[Number(value)]));
    parts.push(field("Another class", all));
  }
  const element = h("div", { class: "field" }, ...parts);
  return { element, stop: () => document.removeEventListener("keydown", pressed) };
}

/**
 * Send a label, or replace one.
 * @param {string} name
 * @param {string} id
 * @param {Class} label
 * @param {Class | null} before
 */
export function sendLabel(name, id, label, before) {
  const replaces = before === null ? {} : { replaces: before };
  return request("POST", fusionPath(name, "/labels"), { id, label, ...replaces });
}
