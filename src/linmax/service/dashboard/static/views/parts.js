// What the views of one fusion share: the heading, and the tabs.

import { allows } from "../api.js";
import { h, percent } from "../dom.js";

const MOST = 10; // probabilities

/**
 * @param {string} name of the fusion
 * @param {"live" | "items" | "try" | "manage"} current
 * @param {...(Node | null)} beside the heading
 */
export function fusionHead(name, current, ...beside) {
  const base = `#/fusions/${encodeURIComponent(name)}`;
  const tab = (/** @type {string} */ key, /** @type {string} */ href, /** @type {string} */ label) =>
    h("a", { href, "aria-current": key === current ? "page" : null }, label);
  return h("div", { class: "head" },
    h("div", { class: "row" }, h("h1", {}, name), ...beside),
    h("nav", { class: "tabs", "aria-label": `Views of ${name}` },
      allows("read", name) ? tab("live", base, "Live") : null,
      allows("read", name) ? tab("items", `${base}/items`, "Items") : null,
      allows("predict", name) ? tab("try", `${base}/try`, "Try it") : null,
      allows("admin", name) ? tab("manage", `${base}/manage`, "Manage") : null,
    ),
  );
}

/**
 * Probabilities as a table with bars, the likeliest class first.
 * @param {Record<string, number>} probabilities
 */
export function probabilityTable(probabilities) {
  const rows = Object.entries(probabilities).sort((a, b) => b[1] - a[1]);
  const shown = rows.slice(0, MOST);
  return h("table", {},
    h("caption", {}, rows.length > shown.length ? `The ${MOST} highest probabilities of ${rows.length}` : "The probability of each class"),
    h("thead", { class: "visually-hidden" }, h("tr", {}, ["Class", "Probability", "Bar"].map((text) => h("th", { scope: "col" }, text)))),
    h("tbody", {}, shown.map(([name, value]) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "number" }, percent(value)), h("td", {}, bar(value, value))))),
  );
}

/**
 * What each expert added to the score of the prediction, above the mean of all classes.
 * @param {{prediction: any, contributions: Record<string, Record<string, number>>}} explanation
 * @param {Record<string, any>} votes
 */
export function contributionTable(explanation, votes) {
  const { prediction, contributions } = explanation;
  const classes = new Set(Object.values(contributions).flatMap((part) => Object.keys(part)));
  const rows = Object.entries(contributions).map(([owner, part]) => {
    const mean = Object.values(part).reduce((sum, value) => sum + value, 0) / Math.max(1, classes.size);
    const key = String(prediction); // may be the name of a member that all objects have, such as constructor
    return { owner, vote: Object.hasOwn(votes, owner) ? votes[owner] : undefined, value: (Object.hasOwn(part, key) ? part[key] : 0) - mean };
  });
  for (const [owner, vote] of Object.entries(votes)) if (!Object.hasOwn(contributions, owner)) rows.push({ owner, vote, value: 0 });
  rows.sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  if (!rows.length) return h("p", { class: "state" }, "No expert has voted.");
  const shown = rows.slice(0, 50);
  const largest = Math.max(...shown.map((row) => Math.abs(row.value)), 1e-9);
  const voted = (/** @type {any} */ vote) => (vote === undefined ? "–" : vote === null ? "abstains" : typeof vote === "object" ? Object.entries(vote).map(([one, score]) => `${one} ${Number(score).toPrecision(2)}`).slice(0, 4).join(", ") : String(vote));
  return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "What each expert added" }, h("table", { class: "stack" },
    h("caption", {}, `Added to the score of ${prediction ?? "the prediction"}, above the mean of all classes${rows.length > shown.length ? `; the ${shown.length} largest of ${rows.length}` : ""}`),
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Expert"), h("th", { scope: "col" }, "Vote"), h("th", { scope: "col", class: "number" }, "Added"), h("th", { scope: "col" }, h("span", { class: "visually-hidden" }, "As a bar")))),
    h("tbody", {}, shown.map((row) => h("tr", {},
      h("th", { scope: "row" }, row.owner),
      h("td", { "data-label": "Vote" }, voted(row.vote)),
      h("td", { class: "number", "data-label": "Added" }, `${row.value < 0 ? "−" : "+"}${Math.abs(row.value).toPrecision(3)}`),
      h("td", {}, bar(Math.abs(row.value) / largest, row.value)),
    ))),
  ));
}

/** @param {number} width of 1 @param {number} value whose sign chooses the colour */
export function bar(width, value) {
  const inner = h("span", { class: value < 0 ? "against" : null });
  inner.style.width = `${Math.round(100 * width)}%`;
  return h("div", { class: "bar", "aria-hidden": "true" }, inner);
}
