// The form for a token.

import { field, h } from "../dom.js";

/**
 * @param {(token: string) => Promise<void>} submit
 * @returns {HTMLElement}
 */
export function signInForm(submit) {
  const input = /** @type {HTMLInputElement} */ (
    h("input", { type: "password", autocomplete: "off", spellcheck: "false", required: true, name: "token" })
  );
  const problem = h("p", { class: "problem", role: "alert" });
  const button = /** @type {HTMLButtonElement} */ (h("button", { type: "submit", class: "main" }, "Sign in"));
  const form = h(
    "form",
    { class: "card" },
    h("h1", {}, "Sign in"),
    h("p", { class: "muted" }, "See whom the fusions of this server trust, label items, and look after them."),
    field("Token", input, "It begins with lmx_. Whoever runs the server creates one: linmax serve token create."),
    problem,
    h("div", { class: "row" }, button),
  );
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    problem.textContent = "";
    button.disabled = true;
    try {
      await submit(input.value.trim());
    } catch (error) {
      problem.textContent = error instanceof Error ? `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.` : String(error);
      input.setAttribute("aria-invalid", "true");
      input.focus();
    }
    button.disabled = false;
  });
  setTimeout(() => input.focus());
  return h("div", { class: "narrow" }, form);
}
