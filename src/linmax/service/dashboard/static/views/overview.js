// All fusions that may be read: how each does beside its baselines.

import { get } from "../api.js";
import { count, fill, h, percent, stateBox } from "../dom.js";

const EVERY = 5000; // milliseconds

/**
 * @typedef {{mistakes: number, accuracy: number | null, low: number | null, high: number | null}} Share
 * @typedef {{name: string, trials: number, waiting: number, expired: number, total: Record<string, Share>,
 *   window: Record<string, Share>, window_trials: number, per_minute: number, alarms: number,
 *   last_alarm: number | null, rebuilding: boolean, spark: number[]}} Row
 */

/** @type {{key: string, label: string, of: (row: Row) => number | string}[]} */
const COLUMNS = [
  { key: "name", label: "Fusion", of: (row) => row.name },
  { key: "accuracy", label: "Accuracy", of: (row) => row.total.linmax.accuracy ?? -1 },
  { key: "window", label: "Lately", of: (row) => row.window.linmax?.accuracy ?? -1 },
  { key: "plurality", label: "Plurality", of: (row) => row.total.plurality.accuracy ?? -1 },
  { key: "best", label: "Best expert", of: (row) => row.total.best_expert.accuracy ?? -1 },
  { key: "frequent", label: "Frequent class", of: (row) => row.total.most_frequent_class.accuracy ?? -1 },
  { key: "trials", label: "Labels", of: (row) => row.trials },
  { key: "waiting", label: "Waiting", of: (row) => row.waiting },
  { key: "rate", label: "Items/min", of: (row) => row.per_minute },
];

/** @param {HTMLElement} main */
export async function show(main) {
  let search = "";
  let sort = { key: "name", down: false };
  /** @type {Row[]} */
  let rows = [];
  let total = 0;
  const body = h("div", { class: "card" });
  const summary = h("p", { class: "muted", role: "status" });
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Search by name", "aria-label": "Search fusions by name" }));
  let timer = 0;

  async function load() {
    const found = await get(`/dashboard/overview?search=${encodeURIComponent(search)}`);
    rows = found.fusions;
    total = found.total;
    draw();
  }

  function draw() {
    const column = COLUMNS.find((one) => one.key === sort.key) ?? COLUMNS[0];
    const sorted = [...rows].sort((a, b) => compare(column.of(a), column.of(b)) * (sort.down ? -1 : 1) || compare(a.name, b.name));
    const text = total > rows.length ? `The first ${rows.length} of ${total}. Search to see others.` : `${total} ${total === 1 ? "fusion" : "fusions"}`;
    if (summary.textContent !== text) summary.textContent = text;
    if (!rows.length) {
      const none = search ? stateBox("No fusion has such a name", "Search for another text.") : stateBox("There is no fusion yet", "The administrator creates one, on the page Admin or with PUT /v1/fusions/NAME.");
      return fill(body, none);
    }
    const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.sort : undefined;
    const link = document.activeElement instanceof HTMLAnchorElement ? document.activeElement.getAttribute("href") : null;
    fill(body, table(sorted));
    if (focused) body.querySelector(`[data-sort="${focused}"]`)?.dispatchEvent(new Event("refocus"));
    if (link) [...body.querySelectorAll("a")].find((one) => one.getAttribute("href") === link)?.focus();
  }

  /** @param {Row[]} sorted */
  function table(sorted) {
    const heads = COLUMNS.map((column) => {
      const active = column.key === sort.key;
      const button = h("button", { type: "button", "data-sort": column.key, onclick: () => {
        sort = { key: column.key, down: active ? !sort.down : column.key !== "name" };
        draw();
        /** @type {HTMLElement | null} */ (body.querySelector(`[data-sort="${column.key}"]`))?.focus();
      } }, column.label);
      button.addEventListener("refocus", () => button.focus());
      return h("th", { scope: "col", class: column.key === "name" ? null : "number", "aria-sort": active ? (sort.down ? "descending" : "ascending") : null }, button);
    });
    heads.push(h("th", { scope: "col" }, "Mistakes over time"));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Fusions" },
      h("table", { class: "stack" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, sorted.map(line))));
  }

  input.addEventListener("input", () => {
    search = input.value.trim();
    clearTimeout(timer);
    timer = setTimeout(() => load().catch(() => undefined), 200);
  });
  main.append(
    h("div", { class: "head" }, h("h1", {}, "Fusions"), summary),
    h("div", { class: "row" }, input),
    body,
    h("p", { class: "hint" }, "Accuracy is that of the predictions that were answered, with a 95 % interval. Plurality, the best expert so far and the most frequent class are on the same items. Lately means the last 500 labels, or a few more."),
  );
  await load();
  const poll = setInterval(() => {
    if (!document.hidden) load().catch(() => undefined);
  }, EVERY);
  return () => {
    clearInterval(poll);
    clearTimeout(timer);
  };
}

/** @param {string | number} a @param {string | number} b */
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

/** @param {Row} row */
function line(row) {
  const cell = (/** @type {string} */ label, /** @type {any[]} */ ...content) => h("td", { class: "number", "data-label": label }, ...content);
  const { linmax, plurality, best_expert: best, most_frequent_class: frequent } = row.total;
  const badges = [
    row.rebuilding ? h("span", { class: "badge warn" }, "rebuilding") : null,
    row.alarms ? h("span", { class: "badge bad", title: `The last alarm of drift was raised after ${count(row.last_alarm ?? 0)} labels` }, `${row.alarms} drift ${row.alarms === 1 ? "alarm" : "alarms"}`) : null,
  ];
  return h("tr", {},
    h("th", { scope: "row" }, h("div", { class: "row" }, h("a", { class: "name", href: `#/fusions/${encodeURIComponent(row.name)}` }, row.name), badges)),
    cell("Accuracy", h("strong", {}, percent(linmax.accuracy)), interval(linmax)),
    cell("Lately", percent(row.window.linmax?.accuracy), row.window.linmax ? interval(row.window.linmax) : null),
    cell("Plurality", percent(plurality.accuracy)),
    cell("Best expert", percent(best.accuracy)),
    cell("Frequent class", percent(frequent.accuracy)),
    cell("Labels", count(row.trials)),
    cell("Waiting", count(row.waiting)),
    cell("Items/min", count(Math.round(row.per_minute))),
    h("td", { class: "wide" }, spark(row)),
  );
}

/** @param {Share} share */
export function interval(share) {
  return share.low === null ? null : h("span", { class: "muted small" }, h("br"), `${percent(share.low, 0)} to ${percent(share.high, 0)}`);
}

const SVG = "http://www.w3.org/2000/svg";

/** A small picture of the share of mistakes over time. @param {Row} row */
function spark(row) {
  const values = row.spark;
  if (values.length < 2) return h("span", { class: "muted small" }, "no labels yet");
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 100 24");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", `Share of mistakes: at first ${percent(values[0], 0)}, now ${percent(values[values.length - 1], 0)}`);
  const top = Math.max(...values, 0.01);
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", values.map((value, i) => `${i ? "L" : "M"}${((100 * i) / (values.length - 1)).toFixed(1)} ${(22 - (20 * value) / top).toFixed(1)}`).join(""));
  svg.append(path);
  return svg;
}
