// Elements, formats, and the states that every view has.

/** @typedef {Node | string | number | null | undefined | false} Child */

/**
 * Make an element. Attributes whose names begin with "on" are listeners, and `false` or `null` leaves one out.
 * @param {string} tag
 * @param {Record<string, any>} [attributes]
 * @param {...(Child | Child[])} children
 * @returns {HTMLElement}
 */
export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (value === true) element.setAttribute(name, "");
    else element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

/**
 * @param {Element} element
 * @param {(Child | Child[])[]} children
 */
function append(element, children) {
  for (const child of children.flat()) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : String(child));
  }
}

/**
 * Replace what is in an element.
 * @param {Element} element
 * @param {...(Child | Child[])} children
 */
export function fill(element, ...children) {
  element.replaceChildren();
  append(element, children);
}

/** @param {string} id @returns {HTMLElement} */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`there is no element ${id}`);
  return element;
}

const whole = new Intl.NumberFormat("en");
/** @param {number} value */
export const count = (value) => whole.format(value);

/** @param {number | null | undefined} value @param {number} [digits] */
export function percent(value, digits = 1) {
  return value === null || value === undefined || Number.isNaN(value) ? "–" : `${(100 * value).toFixed(digits)}%`;
}

/** @param {number | null | undefined} seconds since 1970 */
export function moment(seconds) {
  if (!seconds) return "–";
  const date = new Date(1000 * seconds);
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

/** @param {number} value */
const two = (value) => String(value).padStart(2, "0");

/**
 * Show a short message, for a few seconds, with a button if there is something to do about it.
 * @param {string} text
 * @param {{label: string, run: () => void}} [action]
 */
export function notify(text, action) {
  const box = h("div", { class: "note-box" }, h("span", {}, text));
  if (action) {
    const run = () => {
      box.remove();
      action.run();
    };
    box.append(h("button", { type: "button", class: "small", onclick: run }, action.label));
  }
  const notes = byId("notes");
  notes.append(box);
  while (notes.children.length > 3) notes.firstElementChild?.remove();
  setTimeout(() => box.remove(), action ? 12000 : 5000);
}

/**
 * A state of a view in which there is nothing else to show.
 * @param {string} title
 * @param {Child} text
 * @param {...Child} actions
 */
export function stateBox(title, text, ...actions) {
  return h("section", { class: "state" }, h("h2", {}, title), text ? h("p", {}, text) : null, ...actions);
}

/**
 * The same as the whole page.
 * @param {string} title
 * @param {Child} text
 * @param {...Child} actions
 */
export function pageState(title, text, ...actions) {
  return h("section", { class: "state" }, h("h1", {}, title), text ? h("p", {}, text) : null, ...actions);
}

/**
 * A field of a form with its label and an explanation.
 * @param {string} label
 * @param {HTMLElement} control
 * @param {string} [hint]
 */
export function field(label, control, hint) {
  const id = control.id || `field-${++fields}`;
  control.id = id;
  const note = hint ? h("p", { class: "hint", id: `${id}-hint` }, hint) : null;
  if (note) control.setAttribute("aria-describedby", note.id);
  return h("div", { class: "field" }, h("label", { for: id }, label), control, note);
}
let fields = 0;

/**
 * A select with options.
 * @param {{value: string, label: string}[]} options
 * @param {string} value
 * @param {(value: string) => void} [changed]
 */
export function select(options, value, changed) {
  const element = /** @type {HTMLSelectElement} */ (h("select"));
  for (const option of options) {
    element.append(h("option", { value: option.value, selected: option.value === value }, option.label));
  }
  element.value = value;
  if (changed) element.addEventListener("change", () => changed(element.value));
  return element;
}

/**
 * Ask before something is done; resolves to whether it is to be done.
 * @param {string} title
 * @param {Child[]} content
 * @param {string} label of the button that does it
 * @param {"danger" | "main"} kind
 */
export function confirmed(title, content, label, kind = "danger") {
  return new Promise((resolve) => {
    const yes = h("button", { type: "submit", value: "yes", class: kind }, label);
    const no = h("button", { type: "submit", value: "no" }, "Cancel");
    const form = h("form", { method: "dialog" }, h("h2", { id: "dialog-title" }, title), ...content, h("div", { class: "row" }, no, yes));
    const dialog = /** @type {HTMLDialogElement} */ (h("dialog", { "aria-labelledby": "dialog-title" }, form));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
    no.focus();
  });
}
