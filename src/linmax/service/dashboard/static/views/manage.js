// Manage one fusion: its stored states, rolling back, excluding labels, and deleting it. Each with a preview.

import { ApiError, allows, figuresPath, fusionPath, get, request } from "../api.js";
import { confirmed, count, field, fill, h, moment, notify } from "../dom.js";
import { fusionHead } from "./parts.js";

/** @typedef {{events: number, actors: Record<string, number>, models: number, first: number | null, last: number | null}} Removal */

/** @param {HTMLElement} main @param {string} name */
export async function show(main, name) {
  if (!allows("admin", name)) throw new ApiError(403, "forbidden", `the token lacks the scope admin for ${name}`);
  const info = await get(fusionPath(name));
  const snapshots = h("section", { class: "card" });

  async function drawSnapshots() {
    const { snapshots: found } = await get(figuresPath(name, "/snapshots"));
    fill(snapshots, h("h2", {}, "Stored states"),
      h("p", { class: "hint" }, "A state is stored every 20,000 labels and when the server stops. Rolling back derives the state after an event: later labels do not count any more, and stay in the log."),
      found.length
        ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Stored states" }, h("table", { class: "stack" },
          h("thead", {}, h("tr", {}, ["Position", "Labels", "Time", "Digest", ""].map((text, i) => h("th", { scope: "col", class: i < 2 ? "number" : null }, text || h("span", { class: "visually-hidden" }, "Action"))))),
          h("tbody", {}, found.map((/** @type {any} */ one) => h("tr", {},
            h("td", { class: "number", "data-label": "Position" }, count(one.position)),
            h("td", { class: "number", "data-label": "Labels" }, count(one.trials)),
            h("td", { "data-label": "Time" }, moment(one.time)),
            h("td", { "data-label": "Digest", class: "mono" }, one.digest.slice(0, 12)),
            h("td", {}, h("button", { type: "button", class: "small", onclick: () => rollback(one.position) }, "Roll back to this")))))))
        : h("p", { class: "state" }, "No state is stored yet."));
  }

  /**
   * Show what would change, and do it if that is confirmed.
   * @param {string} title
   * @param {object} wanted
   * @param {"rollback" | "exclude"} action
   * @param {(labels: string) => [string, string]} say the text of the button, and what is said when it is done
   * @param {HTMLElement} problem
   */
  async function amend(title, wanted, action, say, problem) {
    problem.textContent = "";
    try {
      const found = /** @type {Removal} */ (await request("POST", figuresPath(name, "/preview"), wanted));
      if (!found.events) {
        problem.textContent = "Nothing would change: no label fits.";
        return;
      }
      if (!(await confirmed(title, [removal(found, action)], say(changed(found))[0]))) return;
      const done = await request("POST", fusionPath(name, `/${action}`), wanted);
      notify(`${say(changed({ ...found, events: done.events }))[1]}. The state is derived anew.`);
      await drawSnapshots();
    } catch (error) {
      problem.textContent = error instanceof Error ? `${error.message}.` : String(error);
    }
  }

  const rollbackProblem = h("p", { class: "problem", role: "alert" });
  const rollback = (/** @type {number} */ position) => amend(`Roll ${name} back to position ${count(position)}?`, { position }, "rollback",
    (changed) => [`Roll back to position ${count(position)}`, `${name} is rolled back to position ${count(position)}, which changes ${changed}`], rollbackProblem);
  const position = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "0", required: true }));
  const rollbackForm = h("form", { class: "card", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    rollback(Number(position.value));
  } }, h("h2", {}, "Roll back to an event"),
  h("div", { class: "fields" }, field("Position", position, `The position of an event in the log; the last one that ${name} has learned is ${count(info.position)}.`)),
  rollbackProblem, h("div", { class: "row" }, h("button", { type: "submit" }, "Preview")));

  const excludeProblem = h("p", { class: "problem", role: "alert" });
  const ids = /** @type {HTMLTextAreaElement} */ (h("textarea", { rows: "3", spellcheck: "false" }));
  const actor = /** @type {HTMLInputElement} */ (h("input", { autocomplete: "off" }));
  const from = /** @type {HTMLInputElement} */ (h("input", { type: "datetime-local", step: "1" }));
  const until = /** @type {HTMLInputElement} */ (h("input", { type: "datetime-local", step: "1" }));
  const seconds = (/** @type {HTMLInputElement} */ input) => (input.value ? new Date(input.value).getTime() / 1000 : undefined);
  const excludeForm = h("form", { class: "card", onsubmit: (/** @type {Event} */ event) => {
    event.preventDefault();
    const listed = ids.value.split("\n").map((one) => one.trim()).filter(Boolean);
    const wanted = { ids: listed.length ? listed : undefined, actor: actor.value.trim() || undefined, from: seconds(from), until: seconds(until) };
    amend(`Exclude labels from ${name}?`, wanted, "exclude", (excluded) => [`Exclude ${excluded}`, `Excluded: ${excluded}`], excludeProblem);
  } }, h("h2", {}, "Exclude labels"), h("p", { class: "hint" }, "The state becomes what it would be without them. What is given must all apply."),
  field("Items, an id per line", ids),
  field("Labelled by the token", actor),
  h("div", { class: "fields" }, field("From", from), field("Until", until)),
  excludeProblem, h("div", { class: "row" }, h("button", { type: "submit" }, "Preview")));

  async function remove() {
    const text = [h("p", {}, `${name} has learned ${count(info.trials)} labels, and ${count(info.waiting)} items wait for one. Its items and states are removed; its events stay in the log.`)];
    if (!(await confirmed(`Delete ${name}?`, text, "Delete"))) return;
    await request("DELETE", fusionPath(name));
    notify(`${name} is deleted.`);
    location.hash = "#/";
  }

  const model = h("section", { class: "card" }, h("h2", {}, "Model"), h("p", { class: "hint" }, "The model is a file that linmax.load reads."),
    h("div", { class: "row" }, h("a", { class: "button", href: fusionPath(name, "/model"), download: `${name}.linmax` }, "Download the model"),
      h("button", { type: "button", class: "danger", onclick: () => remove().catch((error) => notify(`${error.message}.`)) }, "Delete the fusion")));
  await drawSnapshots();
  main.append(
    fusionHead(name, "manage"),
    snapshots,
    h("div", { class: "split" }, h("div", { class: "column" }, rollbackForm, model), excludeForm),
  );
}

const labels = (/** @type {number} */ number) => `${count(number)} ${number === 1 ? "label" : "labels"}`;

/**
 * Say how many labels and uploaded models an amendment changes.
 * @param {Removal} found
 */
function changed(found) {
  const models = found.models ? [`${count(found.models)} uploaded ${found.models === 1 ? "model" : "models"}`] : [];
  const number = found.events - found.models;
  return [...(number || !found.models ? [labels(number)] : []), ...models].join(" and ");
}

/**
 * @param {Removal} found
 * @param {"rollback" | "exclude"} action
 */
function removal(found, action) {
  return h("div", { class: "field" },
    h("p", {}, `${changed(found)}, from ${moment(found.first)} to ${moment(found.last)}, ${action === "rollback" ? "would count as they did after that event, or not any more" : "would not count any more"}.`),
    h("table", {}, h("caption", {}, "Labels by token"), h("tbody", {}, Object.entries(found.actors).map(([actor, events]) =>
      h("tr", {}, h("th", { scope: "row" }, actor), h("td", { class: "number" }, count(events)))))));
}
