// Charts on the page: lines with uPlot, tables with shaded cells, and the frame around both.

import { fill, h, notify } from "./dom.js";
import { lineCsv, lineSvg, matrixCsv, matrixSvg, png, save } from "./picture.js";

/** @typedef {import("./picture.js").Lines} Lines @typedef {import("./picture.js").Matrix} Matrix */

const TABLE_ROWS = 60;
const WHOLE = [1, 2, 5].flatMap((one) => [...Array(12).keys()].map((power) => one * 10 ** power)).sort((a, b) => a - b); // steps of an axis

/** @type {Promise<any> | null} */
let loading = null;

/** Load uPlot when the first chart is drawn. @returns {Promise<any>} */
function loadPlot() {
  loading ??= new Promise((resolve, reject) => {
    document.head.append(h("link", { rel: "stylesheet", href: "/assets/vendor/uPlot.min.css" }));
    const script = h("script", { src: "/assets/vendor/uPlot.iife.min.js" });
    script.addEventListener("load", () => resolve(/** @type {any} */ (window).uPlot));
    script.addEventListener("error", () => reject(new Error("the library of the charts cannot be loaded")));
    document.head.append(script);
  });
  return loading;
}

/** The colour of a token of the style sheet, as the present theme has it. @param {string} token */
function color(token) {
  const probe = h("span");
  probe.style.color = `var(--${token})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/**
 * The frame of a picture: title, explanation, buttons to save it, and its data as a table.
 * @param {string} title
 * @param {string} caption
 * @param {HTMLElement} body
 * @param {() => {svg: string, csv: string, table?: HTMLElement} | null} content
 */
function frame(title, caption, body, content) {
  const heading = h("h2", {}, title);
  const file = title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
  const button = (/** @type {string} */ kind, /** @type {(found: {svg: string, csv: string}) => Promise<Blob> | Blob} */ make) =>
    h("button", { type: "button", class: "small", "aria-label": `Save ${title} as ${kind}`, onclick: async () => {
      const found = content();
      if (!found) return notify("There is nothing to save yet.");
      try {
        save(`${file}.${kind.toLowerCase()}`, await make(found));
      } catch (error) {
        notify(`The picture cannot be saved: ${error instanceof Error ? error.message : error}.`);
      }
    } }, kind);
  const buttons = h("div", { class: "row" },
    button("SVG", ({ svg }) => new Blob([svg], { type: "image/svg+xml" })),
    button("PNG", ({ svg }) => png(svg)),
    button("CSV", (found) => new Blob([found.csv], { type: "text/csv" })),
  );
  const note = h("figcaption", {}, caption);
  const element = h("figure", { class: "card" }, h("div", { class: "head" }, heading, buttons), note, body);
  return { element, note };
}

/** A line chart that can be zoomed by dragging, and reads exact values under the pointer. */
export class LineChart {
  /**
   * @param {string} title
   * @param {string} caption
   * @param {string} empty what is said without data
   * @param {{range?: [number, number], height?: number}} [options]
   */
  constructor(title, caption, empty, options = {}) {
    this.empty = empty;
    this.options = options;
    this.body = h("div", { class: "chart" });
    this.details = h("details", {}, h("summary", {}, "Data as a table"));
    this.details.addEventListener("toggle", () => this.fillTable());
    const parts = frame(title, caption, this.body, () => this.lines && { svg: lineSvg(this.lines), csv: lineCsv(this.lines) });
    this.element = parts.element;
    this.note = parts.note;
    this.element.append(this.details);
    /** @type {Lines | null} */
    this.lines = null;
    this.key = "";
    this.plot = null;
    this.zoomed = false;
    this.observer = new ResizeObserver(() => this.plot?.setSize(this.size()));
    this.observer.observe(this.body);
    this.redraw = () => this.draw(true);
    window.addEventListener("linmax-theme", this.redraw);
    this.media = matchMedia("(prefers-color-scheme: dark)");
    this.media.addEventListener("change", this.redraw);
  }

  destroy() {
    this.observer.disconnect();
    window.removeEventListener("linmax-theme", this.redraw);
    this.media.removeEventListener("change", this.redraw);
    this.plot?.destroy();
  }

  size() {
    return { width: Math.max(240, this.body.clientWidth), height: this.options.height ?? 260 };
  }

  /** Show other data. @param {Lines} lines */
  async set(lines) {
    this.lines = lines.x.length ? lines : null;
    await this.draw(false);
    if (this.details.hasAttribute("open")) this.fillTable();
  }

  /** @param {boolean} anew */
  async draw(anew) {
    const lines = this.lines;
    this.details.hidden = !lines;
    if (!lines) {
      this.plot?.destroy();
      this.plot = null;
      this.key = "";
      return fill(this.body, h("p", { class: "state" }, this.empty));
    }
    const Plot = await loadPlot();
    const key = JSON.stringify([lines.xLabel, lines.yLabel, lines.series.map((one) => one.name)]);
    const data = [lines.x, ...lines.series.map((one) => one.values)];
    if (this.plot && key === this.key && !anew) {
      this.plot.setData(data, !this.zoomed);
      if (this.zoomed) this.plot.redraw();
    } else {
      this.key = key;
      this.zoomed = false;
      this.plot?.destroy();
      fill(this.body);
      this.plot = new Plot(this.plotOptions(lines), data, this.body);
    }
    const last = lines.series.map((one) => `${one.name} ${lines.yFormat(one.values[one.values.length - 1] ?? NaN)}`);
    const canvas = this.body.querySelector("canvas");
    canvas?.setAttribute("role", "img");
    canvas?.setAttribute("aria-label", `${lines.title}. At the end: ${last.join(", ")}.`);
  }

  /** @param {Lines} lines */
  plotOptions(lines) {
    const axis = { stroke: color("muted"), grid: { stroke: color("line"), width: 1 }, ticks: { stroke: color("line"), width: 1 }, font: "12px system-ui" };
    const value = (/** @type {any} */ _, /** @type {number | null} */ raw) => (raw === null ? "–" : lines.yFormat(raw));
    return {
      ...this.size(),
      scales: { x: { time: false }, y: { range: this.options.range ?? ((/** @type {any} */ _, /** @type {number} */ low, /** @type {number} */ high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.06 : 1]) } },
      axes: [
        { ...axis, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map(lines.xFormat), space: 80, ...(lines.xWhole ? { incrs: WHOLE } : {}) },
        { ...axis, values: (/** @type {any} */ _, /** @type {number[]} */ at) => at.map(lines.yFormat), size: 58 },
      ],
      series: [
        { label: lines.xLabel, value: (/** @type {any} */ _, /** @type {number | null} */ raw) => (raw === null ? "–" : lines.xFormat(raw)) },
        ...lines.series.map((one, i) => ({ label: one.name, stroke: color(`series-${(i % 8) + 1}`), width: 2, dash: one.dash ? [6, 4] : undefined, points: { show: lines.x.length < 3 }, value })),
      ],
      legend: { markers: { fill: (/** @type {any} */ _, /** @type {number} */ i) => color(`series-${((i - 1) % 8) + 1}`) } },
      cursor: { drag: { x: true, y: false } },
      hooks: {
        setSelect: [(/** @type {any} */ plot) => { this.zoomed = plot.select.width > 0; }],
        ready: [(/** @type {any} */ plot) => plot.over.addEventListener("dblclick", () => { this.zoomed = false; })],
      },
    };
  }

  fillTable() {
    if (!this.lines || !this.details.hasAttribute("open")) return;
    const { x, xLabel, series, xFormat, yFormat, title } = this.lines;
    const step = Math.ceil(x.length / TABLE_ROWS);
    const rows = x.map((_, i) => i).filter((i) => (x.length - 1 - i) % step === 0);
    const table = h("table", {},
      h("caption", {}, step > 1 ? `${title}: every ${step}th point` : title),
      h("thead", {}, h("tr", {}, h("th", { scope: "col", class: "number" }, xLabel), series.map((one) => h("th", { scope: "col", class: "number" }, one.name)))),
      h("tbody", {}, rows.map((i) => h("tr", {}, h("td", { class: "number" }, xFormat(x[i])),
        series.map((one) => { const value = one.values[i]; return h("td", { class: "number" }, value === null ? "–" : yFormat(value)); })))),
    );
    const old = this.details.querySelector(".scroll");
    const box = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `${title}, data` }, table);
    if (old) old.replaceWith(box);
    else this.details.append(box);
  }
}

/** A table whose cells are shaded by their values. */
export class MatrixChart {
  /** @param {string} title @param {string} caption @param {string} empty */
  constructor(title, caption, empty) {
    this.title = title;
    this.empty = empty;
    this.body = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": title });
    /** @type {Matrix | null} */
    this.matrix = null;
    const parts = frame(title, caption, this.body, () => this.matrix && { svg: matrixSvg(this.matrix), csv: matrixCsv(this.matrix) });
    this.element = parts.element;
    this.note = parts.note;
  }

  /** Show other data; `marked` cells are set in bold. @param {Matrix} matrix @param {(i: number, j: number) => boolean} [marked] */
  set(matrix, marked = () => false) {
    this.matrix = matrix.rows.length ? matrix : null;
    if (!this.matrix) return fill(this.body, h("p", { class: "state" }, this.empty));
    const { rows, columns, values, corner, format } = matrix;
    const largest = Math.max(1e-9, ...values.flat().map((value) => value ?? 0));
    const cell = (/** @type {number | null} */ value, /** @type {number} */ i, /** @type {number} */ j) => {
      const text = value === null ? "–" : format(value);
      const element = h("td", { title: `${rows[i]}, ${columns[j]}: ${text}` }, marked(i, j) ? h("strong", {}, text) : text);
      if (value) element.style.background = `color-mix(in srgb, var(--series-1) ${(4 + (40 * value) / largest).toFixed(0)}%, var(--card))`;
      return element;
    };
    fill(this.body, h("table", { class: "matrix" },
      h("thead", {}, h("tr", {}, h("th", { scope: "col" }, corner), columns.map((name) => h("th", { scope: "col", title: name }, name)))),
      h("tbody", {}, rows.map((name, i) => h("tr", {}, h("th", { scope: "row", title: name }, name), values[i].map((value, j) => cell(value, i, j))))),
    ));
  }
}
