// All fusions that may be read: how each does beside its baselines.

import { get } from "../api.js";
import { count, fill, h, percent, select, stateBox } from "../dom.js";

const EVERY = 5000; // milliseconds
const PAGE = 100; // fusions that the server sends at once

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
  let start = 0;
  /** @type {{total: number, fusions: Row[], unread: string[], failed: string[]}} */
  let found = { total: 0, fusions: [], unread: [], failed: [] };
  const body = h("div", { class: "card" });
  const summary = h("p", { class: "muted", role: "status" });
  const input = /** @type {HTMLInputElement} */ (h("input", { type: "search", placeholder: "Search by name", "aria-label": "Search fusions by name" }));
  const problem = h("p", { class: "problem" });
  const unreadCard = h("section", { class: "card", hidden: true });
  const previous = /** @type {HTMLButtonElement} */ (h("button", { type: "button", onclick: () => turn(Math.max(0, start - PAGE)) }, "Previous"));
  const next = /** @type {HTMLButtonElement} */ (h("button", { type: "button", onclick: () => turn(start + PAGE) }, "Next"));
  const pages = h("nav", { "aria-label": "Pages", hidden: true }, previous, next);
  const order = select(COLUMNS.map((one) => ({ value: one.key, label: one.key === "name" ? "Sort by name" : `Sort by ${one.label.toLowerCase()}` })), sort.key, (key) => {
    sort = { key, down: key !== "name" };
    draw();
  });
  order.className = "sort-by";
  order.setAttribute("aria-label", "Sort fusions");
  let timer = 0;

  async function load() {
    const wanted = `search=${encodeURIComponent(search)}&start=${start}`;
    const answer = await get(`/dashboard/overview?${wanted}`);
    if (wanted !== `search=${encodeURIComponent(search)}&start=${start}`) return;
    found = answer;
    if (start && start >= found.total) return turn(0);
    draw();
  }

  /** Show the page that begins with a fusion. @param {number} first */
  async function turn(first) {
    start = first;
    await load().catch(() => undefined);
  }

  function draw() {
    const column = COLUMNS.find((one) => one.key === sort.key) ?? COLUMNS[0];
    const { total, fusions, unread, failed } = found;
    const sorted = [...fusions].sort((a, b) => compare(column.of(a), column.of(b)) * (sort.down ? -1 : 1) || compare(a.name, b.name));
    const text = total > PAGE ? `${count(start + 1)} to ${count(Math.min(start + PAGE, total))} of ${count(total)} fusions, each page sorted by itself` : `${total} ${total === 1 ? "fusion" : "fusions"}`;
    if (summary.textContent !== text) summary.textContent = text;
    pages.hidden = total <= PAGE;
    previous.disabled = start === 0;
    next.disabled = start + PAGE >= total;
    fill(problem, failed.length ? `The figures of ${failed.join(", ")} cannot be computed; the log of the server says why.` : null);
    unreadCard.hidden = !unread.length;
    fill(unreadCard, h("h2", {}, "To try"), h("p", { class: "hint" }, "The token may predict with these fusions, and not read their figures."), h("ul", { class: "names" }, unread.map((name) => h("li", {}, h("a", { href: `#/fusions/${encodeURIComponent(name)}/try` }, name)))));
    body.hidden = !fusions.length && (unread.length > 0 || failed.length > 0);
    if (!fusions.length) {
      const none = search ? stateBox("No fusion has such a name", "Search for another text.") : stateBox("There is no fusion to read yet", "The administrator creates one, on the page Admin or with PUT /v1/fusions/NAME. Those that the token may not read are not listed.");
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
        order.value = sort.key;
        draw();
        /** @type {HTMLElement | null} */ (body.querySelector(`[data-sort="${column.key}"]`))?.focus();
      } }, column.label);
      button.addEventListener("refocus", () => button.focus());
      return h("th", { scope: "col", class: column.key === "name" ? null : "number", "aria-sort": active ? (sort.down ? "descending" : "ascending") : null }, button);
    });
    heads.push(h("th", { scope: "col" }, "Mistakes over time"));
    return h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Fusions" },
      h("table", { class: "stack wide" }, h("thead", {}, h("tr", {}, heads)), h("tbody", {}, sorted.map(line))));
  }

  input.addEventListener("input", () => {
    search = input.value.trim();
    start = 0;
    clearTimeout(timer);
    timer = setTimeout(() => load().catch(() => undefined), 200);
  });
  main.append(
    h("div", { class: "head" }, h("h1", {}, "Fusions"), summary),
    h("div", { class: "row" }, input, order, pages),
    problem,
    body,
    unreadCard,
    h("p", { class: "hint" }, "Accuracy is the share of right predictions among those with a label. Plurality, the best expert so far and the most frequent class are on the same items. Below each is a 95 % interval. Lately means the last 500 labels, or a few more."),
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
    cell("Plurality", percent(plurality.accuracy), interval(plurality)),
    cell("Best expert", percent(best.accuracy), interval(best)),
    cell("Frequent class", percent(frequent.accuracy), interval(frequent)),
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
  if (values.length < 2) return h("span", { class: "muted small" }, row.trials ? "too few labels yet" : "no labels yet");
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
