// One item: its votes, what each expert added, the probabilities, and the label.

import { allows, ApiError, fusionPath, get } from "../api.js";
import { field, fill, h, moment, notify, percent, select } from "../dom.js";
import { labelForm, sendLabel } from "./label.js";
import { contributionTable, fusionHead, probabilityTable } from "./parts.js";

/** @param {HTMLElement} main @param {string} name @param {string} id */
export async function show(main, name, id) {
  const info = await get(fusionPath(name));
  const path = fusionPath(name, `/items/${encodeURIComponent(id)}`);
  const facts = h("section", { class: "card" });
  const label = h("section", { class: "card" });
  const likely = h("section", { class: "card" });
  const why = h("div", { "aria-live": "polite" });
  let stopForm = () => {};

  async function draw() {
    const item = await get(path);
    const rows = [
      ["Prediction", item.prediction === null ? "none: no class was known" : String(item.prediction)],
      ["Predicted", moment(item.predicted)],
      ["Label", item.label === null ? "has not come" : String(item.label)],
      ["Labelled", item.label === null ? null : moment(item.labelled)],
      ["Outcome", item.right === null ? null : item.right ? "right" : "wrong"],
    ];
    fill(facts, h("h2", {}, "Facts"), h("table", {}, h("tbody", {}, rows.filter(([, value]) => value !== null).map(([key, value]) =>
      h("tr", {}, h("th", { scope: "row" }, key), h("td", { class: key === "Outcome" ? (item.right ? "good" : "bad") : null }, value))))),
    item.excluded ? h("p", {}, h("span", { class: "badge warn" }, "excluded"), " What was learned from it does not count.") : null);
    fill(likely, h("h2", {}, "Probabilities"), Object.keys(item.probabilities).length ? probabilityTable(item.probabilities) : h("p", { class: "hint" }, "The item came with its label, so no probabilities were answered."));
    drawLabel(item);
    return item;
  }

  /** @param {any} item */
  function drawLabel(item) {
    stopForm();
    stopForm = () => {};
    label.hidden = !allows("label", name) || !info.classes.length;
    if (label.hidden) return;
    const form = labelForm(name, info.classes, item, (given, before) => {
      notify(before === null ? `${id} is ${given}.` : `The label ${before} was replaced by ${given}. The state is derived anew.`,
        before === null ? undefined : { label: "Undo", run: () => undo(before, given) });
      draw();
    });
    stopForm = form.stop;
    fill(label, h("h2", {}, item.label === null ? "Give a label" : "Replace the label"), form.element, h("p", { class: "hint" }, "The keys 1 to 9 choose a class."));
  }

  /** @param {any} before @param {any} given */
  async function undo(before, given) {
    await sendLabel(name, id, before, given);
    draw();
  }

  /** @param {string} when */
  async function explain(when) {
    fill(why, h("p", { class: "state" }, "Loading."));
    try {
      const item = await get(`${path}?explain=${when}`);
      fill(why, contributionTable(item.explanation, item.votes ?? {}));
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      fill(why, h("p", { class: "state" }, `There is no explanation: ${error.message}.`));
    }
  }

  await draw();
  const when = select([{ value: "now", label: "The weights of now" }, { value: "then", label: "The weights of the prediction" }], "now", explain);
  main.append(
    fusionHead(name, "items"),
    h("div", { class: "row" }, h("p", { class: "lead mono" }, id), h("a", { href: `#/fusions/${encodeURIComponent(name)}/items` }, "All items")),
    h("div", { class: "split" }, facts, h("div", { class: "column" }, label, likely)),
    h("section", { class: "card" }, h("h2", {}, "What each expert added"), h("div", { class: "fields" }, field("Explained with", when)), why),
  );
  await explain("now");
  return () => stopForm();
}
