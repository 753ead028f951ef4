// Try it: what would linmax say to some votes, and why. Nothing is stored.

import { ApiError, allows, figuresPath, get, request } from "../api.js";
import { field, fill, h, notify, select } from "../dom.js";
import { contributionTable, fusionHead, probabilityTable } from "./parts.js";

const SHOWN = 24; // experts at first: those that are trusted most
const NOT_ASKED = "-";
const ABSTAINS = "abstains";

/** @param {HTMLElement} main @param {string} name */
export async function show(main, name) {
  if (!allows("predict", name)) throw new ApiError(403, "forbidden", `the token lacks the scope predict for ${name}`);
  const readable = allows("read", name);
  const [info, trust] = await Promise.all([get(figuresPath(name, "/try")), readable ? get(figuresPath(name, "/trust")) : { experts: {} }]);
  const known = new Set(info.experts);
  const order = [...Object.keys(trust.experts).filter((one) => known.has(one)), ...info.experts.filter((/** @type {string} */ one) => !(one in trust.experts))];
  /** @type {Map<string, any>} */
  const votes = new Map();
  const answer = h("section", { class: "card", "aria-live": "polite" });
  const grid = h("div", { class: "fields" });
  let timer = 0;
  let number = 0;

  const options = [
    { value: NOT_ASKED, label: "Not asked" },
    { value: ABSTAINS, label: "Abstains" },
    ...info.classes.map((/** @type {any} */ one, /** @type {number} */ i) => ({ value: String(i), label: String(one) })),
  ];

  /** @param {string} expert */
  function addExpert(expert) {
    const control = select(options, NOT_ASKED, (value) => {
      if (value === NOT_ASKED) votes.delete(expert);
      else votes.set(expert, value === ABSTAINS ? null : info.classes[Number(value)]);
      clearTimeout(timer);
      timer = setTimeout(ask, 150);
    });
    grid.append(field(expert, control));
    return control;
  }

  async function ask() {
    const mine = ++number;
    try {
      const found = await request("POST", figuresPath(name, "/try"), { votes: Object.fromEntries(votes) });
      if (mine === number) draw(found);
    } catch (error) {
      if (mine === number) fill(answer, h("p", { class: "state" }, `There is no answer: ${error instanceof Error ? error.message : error}.`));
    }
  }

  /** @param {any} found */
  function draw(found) {
    const next = found.next_expert
      ? h("p", {}, "To be asked next: ", h("strong", {}, found.next_expert), ".")
      : h("p", {}, found.no_next_expert ? `Whom to ask next is not known: ${found.no_next_expert}.` : votes.size ? "No answer of the others can change this prediction." : "There is nobody to ask yet.");
    fill(answer,
      h("h2", {}, found.prediction === null ? "No class is known yet" : `linmax says ${found.prediction}`),
      next,
      h("div", { class: "split" }, Object.keys(found.probabilities).length ? probabilityTable(found.probabilities) : null, contributionTable(found, Object.fromEntries(votes))),
    );
  }

  main.append(fusionHead(name, "try"), h("p", { class: "muted" }, "Choose what the experts say. Nothing is stored and nothing is learned."));
  if (!info.experts.length) {
    main.append(h("p", { class: "state" }, "The fusion knows no expert yet. They appear with the first items."));
    return;
  }
  const shown = order.slice(0, SHOWN);
  shown.forEach(addExpert);
  const form = h("section", { class: "card" }, h("h2", {}, "Votes"), grid);
  if (order.length > shown.length) {
    const more = select([{ value: "", label: `${order.length - shown.length} others` }, ...order.slice(SHOWN).map((one) => ({ value: one, label: one }))], "", (expert) => {
      if (!expert || shown.includes(expert)) return;
      shown.push(expert);
      more.value = "";
      addExpert(expert).focus();
    });
    form.append(h("div", { class: "fields" }, field("Another expert", more)));
  }
  form.append(h("div", { class: "row" }, h("button", { type: "button", onclick: () => {
    votes.clear();
    for (const control of grid.querySelectorAll("select")) control.value = NOT_ASKED;
    ask();
    notify("All votes are cleared.");
  } }, "Clear")));
  main.append(h("div", { class: "split" }, form, answer));
  await ask();
  return () => clearTimeout(timer);
}
