// One fusion, live: its mistakes, whom it trusts, and what its last labels show.

import { figuresPath, fusionPath, get } from "../api.js";
import { LineChart, MatrixChart } from "../chart.js";
import { count, field, fill, h, moment, percent, select } from "../dom.js";
import { follow, throttled } from "../stream.js";
import { bar, fusionHead } from "./parts.js";

const FAST = 900; // milliseconds between two looks at the curve
const SLOW = 4000; // and at everything else
const POINTS = 300;
const TRUSTED = 8; // experts in the picture of trust
const RANGES = [
  { value: "200", label: "Last 200 labels" },
  { value: "1000", label: "Last 1,000 labels" },
  { value: "5000", label: "Last 5,000 labels" },
  { value: "all", label: "All labels" },
];
const MEASURES = [
  { value: "total", label: "Number of mistakes" },
  { value: "20", label: "Share in a 20th of the range" },
  { value: "5", label: "Share in a 5th of the range" },
];
const CURVES = /** @type {const} */ ([["linmax", "linmax"], ["plurality", "Plurality"], ["best_expert", "Best expert"], ["most_frequent_class", "Most frequent class"]]);

/** @param {HTMLElement} main @param {string} name */
export async function show(main, name) {
  const shown = { range: "all", measure: "total", axis: "labels" };
  const info = await get(fusionPath(name));
  let ended = false;
  /** @type {any} */
  let recent = null;
  const live = { trials: 0, mistakes: 0 };
  const tiles = h("dl", { class: "tiles" });
  const state = h("span", { class: "badge warn", hidden: true }, "rebuilding");
  const experts = h("section", { class: "card" });
  const mistakes = new LineChart("Mistakes over time", "", "The picture appears with the first labels.");
  const trust = new LineChart("Trust per expert over time", "The share of each expert in what raises the score of the truth, measured on the 100 labels before each point.", "Trust is measured when there are labels.", { range: [0, 1] });
  const agreement = new MatrixChart("Who agrees with whom", "How often two experts vote for the same class, where both vote.", "No two experts have voted yet.");
  const confusion = new MatrixChart("Confusion matrix", "A row is a label, a column a prediction.", "There are no labels yet.");
  const calibration = new LineChart("Calibration", "How often predictions of a probability were right. On the dashed line, probabilities are exact.", "Only items that are predicted first and labelled later have a probability.", { range: [0, 1] });
  const coverage = new LineChart("Coverage against error", "The share of mistakes if only the surest predictions are used.", "Only items that are predicted first and labelled later have a probability.");
  const charts = [mistakes, trust, calibration, coverage];

  function drawTiles(/** @type {any} */ row) {
    state.hidden = !row.rebuilding;
    const { linmax, plurality, best_expert: best } = row.total;
    const tile = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ note = "") =>
      h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value), note ? h("dd", { class: "note" }, note) : null);
    fill(tiles,
      tile("Accuracy", percent(linmax.accuracy), linmax.low === null ? "no labels yet" : `${percent(linmax.low)} to ${percent(linmax.high)}`),
      tile(`Last ${count(row.window_trials)} labels`, percent(row.window.linmax?.accuracy), `plurality ${percent(row.window.plurality?.accuracy)}`),
      tile("Plurality", percent(plurality.accuracy), `${count(plurality.mistakes)} mistakes`),
      tile("Best expert", percent(best.accuracy), `${count(best.mistakes)} mistakes`),
      h("div", { class: "tile" }, h("dt", {}, "Labels"), h("dd", { id: "live-trials" }, count(live.trials)), h("dd", { class: "note", id: "live-mistakes" }, `${count(live.mistakes)} mistakes`)),
      tile("Waiting for a label", count(row.waiting), `${count(Math.round(row.per_minute))} items per minute`),
      tile("Drift alarms", count(row.alarms), row.last_alarm === null ? "none so far" : `the last after ${count(row.last_alarm)} labels`),
    );
  }

  /** Count what has just come, before the server is asked for the exact figures. */
  function drawLive() {
    const [trials, wrong] = [document.getElementById("live-trials"), document.getElementById("live-mistakes")];
    if (trials) trials.textContent = count(live.trials);
    if (wrong) wrong.textContent = `${count(live.mistakes)} mistakes`;
  }

  function drawMistakes(/** @type {any} */ points) {
    const byTime = shown.axis === "time";
    const first = points.trials.length && shown.range !== "all" ? (live.trials - points.trials[points.trials.length - 1]) : 0;
    const x = byTime ? points.time : points.trials.map((/** @type {number} */ t) => t + first);
    const share = shown.measure !== "total";
    const series = CURVES.map(([key, label], i) => ({ name: label, dash: i > 0, values: share ? windowShare(points.trials, points[key], Number(shown.measure)) : points[key] }));
    mistakes.note.textContent = share ? "The share of wrong predictions in a window that moves along. Drag to zoom, double-click to see everything." : "Wrong predictions so far, of the same items. Drag to zoom, double-click to see everything.";
    return mistakes.set({ title: "Mistakes over time", x, xLabel: byTime ? "Time" : "Labels", yLabel: share ? "Share of mistakes" : "Mistakes", series, xFormat: byTime ? moment : (value) => count(Math.round(value)), yFormat: share ? (value) => percent(value) : (value) => count(Math.round(value * 100) / 100) });
  }

  const fast = throttled(() => guarded(async () => {
    const [row, found] = await Promise.all([
      get(figuresPath(name, "/summary")),
      shown.range === "all" ? get(fusionPath(name, `/history?points=${POINTS}`)) : loadRecent(),
    ]);
    if (ended) return;
    live.trials = row.trials;
    live.mistakes = row.total.linmax.mistakes;
    drawTiles(row);
    await drawMistakes(shown.range === "all" ? found.points : found.history.points);
  }), FAST);

  async function loadRecent() {
    recent = await get(figuresPath(name, `/recent?window=${shown.range === "all" ? 5000 : shown.range}`));
    return recent;
  }

  const slow = throttled(() => guarded(async () => {
    const [found, trusted] = await Promise.all([loadRecent(), get(figuresPath(name, "/trust"))]);
    if (!ended) await drawRecent(found, trusted);
  }), SLOW);

  async function drawRecent(/** @type {any} */ found, /** @type {any} */ trusted) {
    const names = Object.keys(trusted.experts);
    const shownNames = names.slice(0, TRUSTED);
    const others = names.length - shownNames.length + trusted.omitted;
    const last = trusted.trials[trusted.trials.length - 1] ?? 0;
    const from = shown.range === "all" ? 0 : last - Number(shown.range);
    const kept = trusted.trials.map((/** @type {number} */ t, /** @type {number} */ i) => (t >= from ? i : -1)).filter((/** @type {number} */ i) => i >= 0);
    trust.note.textContent = `The share of each expert in what raises the score of the truth, measured on the 100 labels before each point.${others ? ` The ${TRUSTED} most trusted ones of ${names.length + trusted.omitted}.` : ""}`;
    await trust.set({ title: "Trust per expert over time", x: kept.map((/** @type {number} */ i) => trusted.trials[i]), xLabel: "Labels", yLabel: "Share of the trust", series: shownNames.map((one) => ({ name: one, values: kept.map((/** @type {number} */ i) => trusted.experts[one][i]) })), xFormat: (value) => count(Math.round(value)), yFormat: (value) => percent(value, 0) });
    const lately = `of the last ${count(found.trials)} labels`;
    const { agreement: pairs, confusion: table } = found;
    agreement.note.textContent = `How often two experts vote for the same class, where both vote, ${lately}.${pairs.omitted ? ` The ${pairs.experts.length} with the most votes; ${pairs.omitted} have no room.` : ""}`;
    agreement.set({ title: "Who agrees with whom", rows: pairs.experts, columns: pairs.experts, values: pairs.table, corner: "Expert", format: (value) => percent(value, 0) });
    confusion.note.textContent = `A row is a label, a column a prediction, ${lately}.${table.omitted ? ` ${count(table.omitted)} items are of classes that have no room.` : ""}`;
    confusion.set({ title: "Confusion matrix", rows: table.classes, columns: table.classes, values: table.table, corner: "Label", format: (value) => count(value) }, (i, j) => i === j);
    const bins = found.calibration;
    const points = bins.map((/** @type {any} */ bin) => bin.confidence);
    await calibration.set({ title: "Calibration", x: points, xLabel: "Probability of the prediction", yLabel: "Share of right predictions", series: [{ name: "linmax", values: bins.map((/** @type {any} */ bin) => bin.accuracy) }, { name: "exact", values: points, dash: true }], xFormat: (value) => percent(value, 0), yFormat: (value) => percent(value, 0) });
    await coverage.set({ title: "Coverage against error", x: found.coverage.coverage, xLabel: "Share of items that are answered", yLabel: "Share of mistakes", series: [{ name: "linmax", values: found.coverage.error }], xFormat: (value) => percent(value, 0), yFormat: (value) => percent(value) });
    drawExperts(found, trusted);
  }

  function drawExperts(/** @type {any} */ found, /** @type {any} */ trusted) {
    const rows = found.experts.slice(0, 50);
    const now = (/** @type {string} */ one) => (trusted.experts[one] ?? [0])[(trusted.experts[one] ?? [0]).length - 1] ?? 0;
    fill(experts, h("h2", {}, "Experts"), rows.length
      ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Experts" }, h("table", { class: "stack" },
        h("caption", {}, `On the last ${count(found.trials)} labels${found.experts.length > rows.length ? `; the first ${rows.length} of ${found.experts.length}` : ""}`),
        h("thead", {}, h("tr", {}, ["Expert", "Votes", "Accuracy", "Trust now", ""].map((text, i) => h("th", { scope: "col", class: i && i < 4 ? "number" : null }, text || h("span", { class: "visually-hidden" }, "Trust as a bar"))))),
        h("tbody", {}, rows.map((/** @type {any} */ one) => h("tr", {},
          h("th", { scope: "row" }, one.name),
          h("td", { class: "number", "data-label": "Votes" }, count(one.votes)),
          h("td", { class: "number", "data-label": "Accuracy" }, percent(one.votes ? one.right / one.votes : null)),
          h("td", { class: "number", "data-label": "Trust now" }, percent(now(one.name))),
          h("td", {}, bar(now(one.name), 1)),
        )))))
      : h("p", { class: "state" }, "No expert has voted on a labelled item yet."));
  }

  /** A picture that cannot be refreshed stays as it is; the header says that the server cannot be reached. */
  async function guarded(/** @type {() => Promise<void>} */ run) {
    try {
      if (!ended && !document.hidden) await run();
    } catch (error) {
      if (/** @type {any} */ (error)?.status === 401) window.dispatchEvent(new Event("linmax-signed-out"));
    }
  }

  const changed = (urgent = false) => {
    fast(urgent);
    slow(urgent);
  };
  main.append(
    fusionHead(name, "live", state),
    h("p", { class: "muted small mono" }, info.learner.length > 200 ? `${info.learner.slice(0, 200)}…` : info.learner),
    tiles,
    h("div", { class: "card" }, h("div", { class: "fields" },
      field("Range", select(RANGES, shown.range, (value) => { shown.range = value; changed(true); })),
      field("Mistakes as", select(MEASURES, shown.measure, (value) => { shown.measure = value; fast(true); })),
      field("Horizontal axis", select([{ value: "labels", label: "Labels" }, { value: "time", label: "Time" }], shown.axis, (value) => { shown.axis = value; fast(true); })),
    )),
    mistakes.element,
    trust.element,
    h("div", { class: "grid" }, agreement.element, confusion.element, calibration.element, coverage.element),
    experts,
  );
  const [row, history, found, trusted] = await Promise.all([
    get(figuresPath(name, "/summary")),
    get(fusionPath(name, `/history?points=${POINTS}`)),
    loadRecent(),
    get(figuresPath(name, "/trust")),
  ]);
  live.trials = row.trials;
  live.mistakes = row.total.linmax.mistakes;
  drawTiles(row);
  await drawMistakes(history.points);
  await drawRecent(found, trusted);
  const stop = follow(name, (events) => {
    for (const event of events) {
      if (event.kind !== "labelled" && event.kind !== "learned") continue;
      live.trials += 1;
      live.mistakes += event.right ? 0 : 1;
    }
    if (events.some((event) => event.kind === "deleted")) location.hash = "#/";
    drawLive();
    changed();
  });
  return () => {
    ended = true;
    stop();
    for (const chart of charts) chart.destroy();
  };
}

/**
 * The share of mistakes in a window that ends at each point, from counts of mistakes.
 * @param {number[]} trials
 * @param {number[]} mistakes
 * @param {number} parts of the range that the window is one of
 * @returns {number[]}
 */
export function windowShare(trials, mistakes, parts) {
  const width = Math.max(1, Math.round(trials.length / parts));
  return trials.map((count_, i) => {
    const from = i - width;
    const [t0, m0] = from < 0 ? [0, 0] : [trials[from], mistakes[from]];
    return (mistakes[i] - m0) / Math.max(1, count_ - t0);
  });
}
