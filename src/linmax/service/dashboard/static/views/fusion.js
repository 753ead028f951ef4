// One fusion, live: its mistakes, whom it trusts, and what its last labels show.

import { figuresPath, fusionPath, get } from "../api.js";
import { LineChart, MatrixChart } from "../chart.js";
import { count, field, fill, h, moment, percent, select } from "../dom.js";
import { follow, throttled } from "../stream.js";
import { bar, fusionHead } from "./parts.js";

const FAST = 900; // milliseconds between two looks at the curve
const SLOW = 4000; // and at everything else
const POINTS = 300;
const MOST_POINTS = 1000;
const LARGEST = 5000; // labels that matrices and curves of the last labels are about
const TRUSTED = 8; // experts in the picture of trust
const RANGES = [
  { value: "200", label: "Last 200 labels" },
  { value: "1000", label: "Last 1,000 labels" },
  { value: "5000", label: "Last 5,000 labels" },
  { value: "all", label: "All labels" },
  { value: "dates", label: "Between two times" },
];
const MEASURES = [
  { value: "total", label: "Number of mistakes" },
  { value: "20", label: "Share in a 20th of the range" },
  { value: "5", label: "Share in a 5th of the range" },
];
const CURVES = /** @type {const} */ ([["linmax", "linmax"], ["plurality", "Plurality"], ["best_expert", "Best expert"], ["most_frequent_class", "Most frequent class"]]);

/** @param {HTMLElement} main @param {string} name */
export async function show(main, name) {
  const shown = { range: "all", measure: "total", axis: "labels", from: 0, until: 0 };
  const info = await get(fusionPath(name));
  let ended = false;
  const live = { trials: 0, mistakes: 0 };
  const tiles = h("dl", { class: "tiles" });
  const state = h("span", { class: "badge warn", hidden: true }, "rebuilding");
  const experts = h("section", { class: "card" });
  const mistakes = new LineChart("Mistakes over time", "", "The picture appears with the first labels of the range.");
  const trust = new LineChart("Trust per expert over time", "The share of each expert in what raises the score of the truth, measured on the 100 labels before each point.", "Trust is measured when there are labels.", { range: [0, 1] });
  const agreement = new MatrixChart("Who agrees with whom", "How often two experts vote for the same class, where both vote.", "No two experts have voted yet.");
  const confusion = new MatrixChart("Confusion matrix", "A row is a label, a column a prediction.", "There are no labels in this range.");
  const calibration = new LineChart("Calibration", "How often predictions of a probability were right. On the dashed line, probabilities are exact.", "Only items that are predicted first and labelled later have a probability.", { range: [0, 1] });
  const coverage = new LineChart("Coverage against error", "The share of mistakes if only the surest predictions are used.", "Only items that are predicted first and labelled later have a probability.");
  const asked = new LineChart("Experts asked per item", "", "The picture appears with the first labels of the range.");
  const charts = [mistakes, trust, calibration, coverage, asked];

  function drawTiles(/** @type {any} */ row) {
    state.hidden = !row.rebuilding;
    const { linmax, plurality, best_expert: best } = row.total;
    const interval = (/** @type {any} */ share) => (share.low === null ? "no labels yet" : `${percent(share.low)} to ${percent(share.high)}`);
    const tile = (/** @type {string} */ label, /** @type {string} */ value, /** @type {string} */ note = "") =>
      h("div", { class: "tile" }, h("dt", {}, label), h("dd", {}, value), note ? h("dd", { class: "note" }, note) : null);
    fill(tiles,
      tile("Accuracy", percent(linmax.accuracy), interval(linmax)),
      tile(row.window_trials ? `Last ${count(row.window_trials)} labels` : "Last labels", percent(row.window.linmax?.accuracy), `plurality ${percent(row.window.plurality?.accuracy)}`),
      tile("Plurality", percent(plurality.accuracy), interval(plurality)),
      tile("Best expert", percent(best.accuracy), interval(best)),
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
    const lately = shown.range !== "all" && shown.range !== "dates";
    const first = points.trials.length && lately ? live.trials - points.trials[points.trials.length - 1] : 0;
    const x = byTime ? points.time : points.trials.map((/** @type {number} */ t) => t + first);
    const share = shown.measure !== "total";
    const series = CURVES.map(([key, label], i) => ({ name: label, dash: i > 0, values: share ? windowShare(points.trials, points[key], Number(shown.measure)) : points[key] }));
    mistakes.note.textContent = share ? "The share of wrong predictions in a window that moves along. Drag to zoom, double-click to see everything." : "Wrong predictions so far, of the same items. Drag to zoom, double-click to see everything.";
    return mistakes.set({ title: "Mistakes over time", x, xLabel: byTime ? "Time" : "Labels", xWhole: !byTime, yLabel: share ? "Share of mistakes" : "Mistakes", series, xFormat: byTime ? moment : (value) => count(Math.round(value)), yFormat: share ? (value) => percent(value) : (value) => count(Math.round(value * 100) / 100) });
  }

  const fast = throttled(() => guarded(async () => {
    const [row, found] = await Promise.all([
      get(figuresPath(name, "/summary")),
      loadPoints(),
    ]);
    if (ended) return;
    live.trials = row.trials;
    live.mistakes = row.total.linmax.mistakes;
    drawTiles(row);
    await drawMistakes(found);
  }), FAST);

  /** The counts of mistakes of the range: of each label if they are few, otherwise of some points. */
  async function loadPoints() {
    if (shown.range === "all") return (await get(fusionPath(name, `/history?points=${POINTS}`))).points;
    const found = await loadRecent();
    if (shown.range !== "dates" || found.complete) return found.history.points;
    const { points } = await get(fusionPath(name, `/history?points=${MOST_POINTS}`));
    const kept = inRange(points.time);
    const since = (/** @type {string} */ key) => (key === "time" || !kept[0] ? 0 : points[key][kept[0] - 1]); // what is before the range
    return Object.fromEntries(Object.keys(points).map((key) => [key, kept.map((i) => points[key][i] - since(key))]));
  }

  function loadRecent() {
    const dates = shown.range === "dates";
    const times = `${dates && shown.from ? `&from=${shown.from}` : ""}${dates && shown.until ? `&until=${shown.until}` : ""}`;
    return get(figuresPath(name, `/recent?window=${Number(shown.range) || LARGEST}${times}`));
  }

  /** The numbers of the points whose times are in the range. @param {number[]} times */
  const inRange = (times) => times.map((_, i) => i).filter((i) => times[i] >= shown.from && (!shown.until || times[i] < shown.until));

  const slow = throttled(() => guarded(async () => {
    const [found, trusted] = await Promise.all([loadRecent(), get(figuresPath(name, "/trust"))]);
    if (!ended) await drawRecent(found, trusted);
  }), SLOW);

  async function drawRecent(/** @type {any} */ found, /** @type {any} */ trusted) {
    const names = Object.keys(trusted.experts);
    const shownNames = names.slice(0, TRUSTED);
    const others = names.length - shownNames.length + trusted.omitted;
    const last = trusted.trials[trusted.trials.length - 1] ?? 0;
    const from = last - (Number(shown.range) || last);
    const kept = (shown.range === "dates" ? inRange(trusted.time) : [...trusted.trials.keys()]).filter((i) => trusted.trials[i] >= from);
    trust.note.textContent = `The share of each expert in what raises the score of the truth, measured on the 100 labels before each point.${others ? ` The ${TRUSTED} most trusted ones of ${names.length + trusted.omitted}.` : ""}`;
    await trust.set({ title: "Trust per expert over time", x: kept.map((/** @type {number} */ i) => trusted.trials[i]), xLabel: "Labels", xWhole: true, yLabel: "Share of the trust", series: shownNames.map((one) => ({ name: one, values: kept.map((/** @type {number} */ i) => trusted.experts[one][i]) })), xFormat: (value) => count(Math.round(value)), yFormat: (value) => percent(value, 0) });
    const lately = !found.trials ? "of the labels" : shown.range === "dates" ? `of ${found.complete ? "the" : "the last"} ${count(found.trials)} labels of this time` : `of the last ${count(found.trials)} labels`;
    const { agreement: pairs, confusion: table } = found;
    agreement.note.textContent = `How often two experts vote for the same class, where both vote, ${lately}.${pairs.omitted ? ` The ${pairs.experts.length} with the most votes; ${pairs.omitted} have no room.` : ""}`;
    agreement.set({ title: "Who agrees with whom", rows: pairs.experts, columns: pairs.experts, values: pairs.table, corner: "Expert", format: (value) => percent(value, 0) });
    confusion.note.textContent = `A row is a label, a column a prediction, ${lately}.${table.omitted ? ` ${count(table.omitted)} items are of classes that have no room.` : ""}`;
    confusion.set({ title: "Confusion matrix", rows: table.classes, columns: table.classes, values: table.table, corner: "Label", format: (value) => count(value) }, (i, j) => i === j);
    const bins = found.calibration;
    const points = bins.map((/** @type {any} */ bin) => bin.confidence);
    await calibration.set({ title: "Calibration", x: points, xLabel: "Probability of the prediction", yLabel: "Share of right predictions", series: [{ name: "linmax", values: bins.map((/** @type {any} */ bin) => bin.accuracy) }, { name: "exact", values: points, dash: true }], xFormat: (value) => percent(value, 0), yFormat: (value) => percent(value, 0) });
    await coverage.set({ title: "Coverage against error", x: found.coverage.coverage, xLabel: "Share of items that are answered", yLabel: "Share of mistakes", series: [{ name: "linmax", values: found.coverage.error }], xFormat: (value) => percent(value, 0), yFormat: (value) => percent(value) });
    await drawAsked(found.asked, lately);
    drawExperts(found, trusted);
  }

  function drawAsked(/** @type {any} */ found, /** @type {string} */ lately) {
    asked.note.textContent = found.mean === null ? "How many experts were asked, of all that are known." : `On average ${found.mean.toFixed(1)} of ${count(found.experts)} experts were asked, ${lately}: ${percent(found.saved)} of the cost is saved, if all votes cost the same.`;
    return asked.set({ title: "Experts asked per item", x: found.trials, xLabel: "Labels of the range", xWhole: true, yLabel: "Experts", series: [{ name: "asked", values: found.means }, { name: "all", values: found.trials.map(() => found.experts), dash: true }], xFormat: (value) => count(Math.round(value)), yFormat: (value) => value.toFixed(1) });
  }

  /** Choose the beginning or the end of the range. @param {"from" | "until"} key @param {string} label */
  function timeField(key, label) {
    const input = /** @type {HTMLInputElement} */ (h("input", { type: "datetime-local", step: "1" }));
    input.addEventListener("change", () => {
      shown[key] = input.value ? Math.round(new Date(input.value).getTime() / 1000) : 0;
      changed(true);
    });
    return field(label, input);
  }

  function drawExperts(/** @type {any} */ found, /** @type {any} */ trusted) {
    const rows = found.experts.slice(0, 50);
    const now = (/** @type {string} */ one) => (trusted.experts[one] ?? [0])[(trusted.experts[one] ?? [0]).length - 1] ?? 0;
    fill(experts, h("h2", {}, "Experts"), rows.length
      ? h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Experts" }, h("table", { class: "stack" },
        h("caption", {}, `${shown.range === "dates" ? `On ${count(found.trials)} labels of this time` : `On the last ${count(found.trials)} labels`}${found.experts.length > rows.length ? `; the first ${rows.length} of ${found.experts.length}` : ""}`),
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
  const dates = h("div", { class: "fields", hidden: true }, timeField("from", "From"), timeField("until", "Until"));
  main.append(
    fusionHead(name, "live", state),
    h("p", { class: "muted small mono" }, info.learner.length > 200 ? `${info.learner.slice(0, 200)}…` : info.learner),
    tiles,
    h("div", { class: "card" }, h("div", { class: "fields" },
      field("Range", select(RANGES, shown.range, (value) => { shown.range = value; dates.hidden = value !== "dates"; changed(true); })),
      field("Mistakes as", select(MEASURES, shown.measure, (value) => { shown.measure = value; fast(true); })),
      field("Horizontal axis", select([{ value: "labels", label: "Labels" }, { value: "time", label: "Time" }], shown.axis, (value) => { shown.axis = value; fast(true); })),
    ), dates),
    mistakes.element,
    trust.element,
    h("div", { class: "grid" }, agreement.element, confusion.element, calibration.element, coverage.element),
    asked.element,
    experts,
  );
  const [row, points, found, trusted] = await Promise.all([
    get(figuresPath(name, "/summary")),
    loadPoints(),
    loadRecent(),
    get(figuresPath(name, "/trust")),
  ]);
  live.trials = row.trials;
  live.mistakes = row.total.linmax.mistakes;
  drawTiles(row);
  await drawMistakes(points);
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
