// The items of a fusion: search, those to label, and the surest mistakes.

import { allows, figuresPath, fusionPath, get } from "../api.js";
import { fill, h, moment, notify, percent } from "../dom.js";
import { labelForm } from "./label.js";
import { fusionHead } from "./parts.js";

/**
 * @typedef {string | number | boolean} Class
 * @typedef {{id: string, time: number, prediction: Class | null, label: Class | null, probability: number | null, second: number | null}} ItemRow
 */

/** @param {HTMLElement} main @param {string} name */
export async function show(main, name) {
  const info = await get(fusionPath(name));
  const found = h("section", { class: "card", hidden: true, "aria-live": "polite" });
  const queue = h("section", { class: "card" });
  const mistakes = h("section", { class: "card" });
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Search by id", "aria-label": "Search items by the beginning of the id" }));
  let timer = 0;
  let ended = false;
  let stopForm = () => {};

  async function search() {
    const text = input.value.trim();
    found.hidden = !text;
    if (!text) return;
    const { items } = await get(figuresPath(name, `/items?search=${encodeURIComponent(text)}`));
    if (input.value.trim() !== text) return;
    fill(found, h("h2", {}, "Search"), items.length ? itemTable(name, items, "The first 20 items whose ids begin with this text") : h("p", { class: "state" }, `No id begins with ${text}.`));
  }

  /** Show the items whose label would help most, and a form for one of them. @param {{id: string, label: Class | null} | null} [again] */
  async function drawQueue(again = null) {
    const { items } = /** @type {{items: ItemRow[]}} */ (await get(figuresPath(name, "/items?list=uncertain")));
    if (ended) return;
    stopForm();
    stopForm = () => {};
    const parts = [h("h2", {}, "A label would help most")];
    const chosen = again ?? items[0];
    if (!chosen) return fill(queue, ...parts, h("p", { class: "state" }, "No item waits for a label."));
    parts.push(h("p", { class: "hint" }, "Of the last 1,000 items that wait for a label, those whose two likeliest classes are the closest."));
    if (allows("label", name) && info.classes.length) parts.push(await labelCard(chosen.id));
    if (items.length) parts.push(itemTable(name, items, "Items that wait for a label"));
    fill(queue, ...parts);
  }

  /** @param {string} id */
  async function labelCard(id) {
    const item = await get(fusionPath(name, `/items/${encodeURIComponent(id)}`));
    const form = labelForm(name, info.classes, item, (label, before) => {
      notify(`${id} is ${label}.`, { label: "Undo", run: () => drawQueue({ id, label }) });
      if (before !== null) notify("The state is derived anew with the new label.");
      drawQueue();
      drawMistakes();
    });
    stopForm = form.stop;
    const votes = Object.entries(item.votes ?? {}).slice(0, 30);
    const probabilities = Object.entries(item.probabilities).sort((a, b) => b[1] - a[1]).slice(0, 5);
    return h("div", { class: "field", id: "label-card" },
      h("h3", {}, item.label === null ? "What is " : "Replace the label of ", h("a", { href: itemLink(name, id) }, id), item.label === null ? "?" : ""),
      h("p", { class: "small" }, `Predicted ${item.prediction ?? "nothing"}`, probabilities.length ? `: ${probabilities.map(([one, p]) => `${one} ${percent(p, 0)}`).join(", ")}` : "", item.label === null ? "" : `; labelled ${item.label}`, "."),
      h("p", { class: "small muted" }, votes.map(([expert, vote]) => `${expert}: ${typeof vote === "object" && vote !== null ? "scores" : vote ?? "abstains"}`).join(" · ")),
      form.element,
      h("p", { class: "hint" }, "The keys 1 to 9 choose a class. Undo shows the item again, and another label replaces the first."),
    );
  }

  async function drawMistakes() {
    const { items } = await get(figuresPath(name, "/items?list=mistakes"));
    if (ended) return;
    fill(mistakes, h("h2", {}, "Surest mistakes"), items.length
      ? itemTable(name, items, "Of the last 1,000 labels, the wrong predictions with the highest probabilities")
      : h("p", { class: "state" }, "There are no mistakes among the last labels."));
  }

  input.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(() => search().catch(() => notify("The search has failed. Try again.")), 200);
  });
  main.append(fusionHead(name, "items"), h("div", { class: "row" }, input), found, queue, mistakes);
  await Promise.all([drawQueue(), drawMistakes()]);
  return () => {
    ended = true;
    clearTimeout(timer);
    stopForm();
  };
}

/** @param {string} name @param {string} id */
const itemLink = (name, id) => `#/fusions/${encodeURIComponent(name)}/items/${encodeURIComponent(id)}`;

/** @param {string} name @param {ItemRow[]} items @param {string} caption */
function itemTable(name, items, caption) {
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": caption }, h("table", { class: "stack" },
    h("caption", {}, caption),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Item"), h("th", { scope: "col" }, "Prediction"), h("th", { scope: "col", class: "number" }, "Probability"), h("th", { scope: "col" }, "Label"), h("th", { scope: "col" }, "Time"))),
    h("tbody", {}, items.map((item) => h("tr", {},
      h("th", { scope: "row" }, h("a", { href: itemLink(name, item.id), class: "mono" }, item.id)),
      h("td", { "data-label": "Prediction" }, String(item.prediction ?? "–")),
      h("td", { "data-label": "Probability", class: "number" }, percent(item.probability, 0)),
      h("td", { "data-label": "Label", class: item.label === null ? "muted" : item.label === item.prediction ? "good" : "bad" }, item.label === null ? "waits" : String(item.label)),
      h("td", { "data-label": "Time", class: "muted small time" }, moment(item.time)),
    ))),
  ));
}
