// Pictures as files: SVG from the data, PNG from the SVG, and the data as CSV.

/**
 * @typedef {{name: string, values: (number | null)[], dash?: boolean}} Series
 * @typedef {{title: string, x: number[], xLabel: string, xWhole?: boolean, yLabel: string, series: Series[],
 *   xFormat: (value: number) => string, yFormat: (value: number) => string}} Lines
 * @typedef {{title: string, rows: string[], columns: string[], values: (number | null)[][], corner: string,
 *   format: (value: number) => string}} Matrix
 */

export const COLORS = ["#1f5fbf", "#c2570c", "#2a8a57", "#8a4fbf", "#b8860b", "#c2417c", "#188b9c", "#6b7280"];
const WIDTH = 880;
const HEIGHT = 460;
const FONT = "font-family='system-ui, sans-serif' font-size='13'";

/** @param {string} name @param {number} most */
const short = (name, most) => (name.length > most ? `${name.slice(0, most - 1)}…` : name);

/** @param {string | number} text */
const escape = (text) => String(text).replace(/[&<>'"]/g, (one) => `&#${one.charCodeAt(0)};`);

/**
 * A line chart as SVG.
 * @param {Lines} lines
 */
export function lineSvg({ title, x, xLabel, yLabel, series, xFormat, yFormat }) {
  const left = 70, right = WIDTH - 190, top = 50, bottom = HEIGHT - 60;
  const known = series.flatMap((one) => one.values).filter((value) => value !== null);
  const [x0, x1] = [Math.min(...x), Math.max(...x)];
  const y0 = Math.min(0, ...known);
  const y1 = Math.max(...known, y0 + 1e-9);
  const px = (/** @type {number} */ value) => left + ((value - x0) / (x1 - x0 || 1)) * (right - left);
  const py = (/** @type {number} */ value) => bottom - ((value - y0) / (y1 - y0)) * (bottom - top);
  const parts = [];
  for (let i = 0; i <= 4; i++) {
    const y = y0 + ((y1 - y0) * i) / 4;
    const at = x0 + ((x1 - x0) * i) / 4;
    parts.push(`<line x1='${left}' x2='${right}' y1='${py(y)}' y2='${py(y)}' stroke='#d9dee6'/>`);
    parts.push(`<text x='${left - 8}' y='${py(y) + 4}' text-anchor='end' fill='#566072'>${escape(yFormat(y))}</text>`);
    parts.push(`<text x='${px(at)}' y='${bottom + 20}' text-anchor='middle' fill='#566072'>${escape(xFormat(at))}</text>`);
  }
  series.forEach((one, i) => {
    let path = "";
    one.values.forEach((value, j) => {
      if (value === null) return;
      path += `${path && one.values[j - 1] !== null ? "L" : "M"}${px(x[j]).toFixed(1)} ${py(value).toFixed(1)}`;
    });
    const color = COLORS[i % COLORS.length];
    const dash = one.dash ? " stroke-dasharray='5 4'" : "";
    parts.push(`<path d='${path}' fill='none' stroke='${color}' stroke-width='2'${dash}/>`);
    parts.push(`<line x1='${right + 14}' x2='${right + 34}' y1='${top + 8 + 20 * i}' y2='${top + 8 + 20 * i}' stroke='${color}' stroke-width='3'${dash}/>`);
    parts.push(`<text x='${right + 40}' y='${top + 12 + 20 * i}' fill='#1a2230'>${escape(short(one.name, 20))}</text>`);
  });
  parts.push(`<text x='${(left + right) / 2}' y='${HEIGHT - 16}' text-anchor='middle' fill='#566072'>${escape(xLabel)}</text>`);
  parts.push(`<text x='${left}' y='${top - 12}' fill='#566072'>${escape(yLabel)}</text>`);
  return frame(title, WIDTH, HEIGHT, parts);
}

/**
 * A table with shaded cells as SVG.
 * @param {Matrix} matrix
 */
export function matrixSvg({ title, rows, columns, values, corner, format }) {
  const cell = 62, height = 30, left = 150, top = 90;
  const largest = Math.max(1e-9, ...values.flat().map((value) => value ?? 0));
  const parts = [`<text x='12' y='${top - 12}' fill='#566072'>${escape(corner)}</text>`];
  columns.forEach((name, j) => parts.push(`<text x='${left + cell * (j + 0.5)}' y='${top - 12}' text-anchor='middle' fill='#1a2230'>${escape(short(name, 8))}</text>`));
  rows.forEach((name, i) => {
    parts.push(`<text x='12' y='${top + height * i + 20}' fill='#1a2230'>${escape(short(name, 18))}</text>`);
    values[i].forEach((value, j) => {
      const opacity = value === null ? 0 : 0.05 + (0.5 * value) / largest;
      parts.push(`<rect x='${left + cell * j + 1}' y='${top + height * i + 1}' width='${cell - 2}' height='${height - 2}' rx='3' fill='${COLORS[0]}' fill-opacity='${opacity.toFixed(3)}'/>`);
      parts.push(`<text x='${left + cell * (j + 0.5)}' y='${top + height * i + 20}' text-anchor='middle' fill='#1a2230'>${value === null ? "–" : escape(format(value))}</text>`);
    });
  });
  return frame(title, left + cell * columns.length + 20, top + height * rows.length + 20, parts);
}

/** @param {string} title @param {number} width @param {number} height @param {string[]} parts */
function frame(title, width, height, parts) {
  return (
    `<svg xmlns='http://www.w3.org/2000/svg' width='${width}' height='${height}' viewBox='0 0 ${width} ${height}' ${FONT}>` +
    `<rect width='100%' height='100%' fill='#ffffff'/><text x='12' y='26' font-size='16' font-weight='600' fill='#1a2230'>${escape(title)}</text>` +
    `${parts.join("")}</svg>`
  );
}

/** @param {Lines} lines */
export function lineCsv({ x, xLabel, series }) {
  const rows = x.map((value, i) => [value, ...series.map((one) => one.values[i])]);
  return csv([[xLabel, ...series.map((one) => one.name)], ...rows]);
}

/** @param {Matrix} matrix */
export function matrixCsv({ rows, columns, values, corner }) {
  return csv([[corner, ...columns], ...rows.map((name, i) => [name, ...values[i]])]);
}

/**
 * Text with a leading =, +, - or @ would be a formula in a spreadsheet, and gets an apostrophe.
 * @param {(string | number | null)[][]} rows
 */
export function csv(rows) {
  const cell = (/** @type {string | number | null} */ value) => {
    if (value === null || value === undefined) return "";
    const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
    return /[",\n\r]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

/** Save a file. @param {string} name @param {Blob} blob */
export function save(name, blob) {
  const url = URL.createObjectURL(blob);
  const link = document.createElement("a");
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

/**
 * Draw an SVG on a canvas, at twice its size.
 * @param {string} svg
 * @returns {Promise<Blob>}
 */
export function png(svg) {
  return new Promise((resolve, reject) => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas");
      canvas.width = 2 * image.naturalWidth;
      canvas.height = 2 * image.naturalHeight;
      canvas.getContext("2d")?.drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the picture is too large"))), "image/png");
    };
    image.onerror = () => reject(new Error("the picture cannot be drawn"));
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  });
}
