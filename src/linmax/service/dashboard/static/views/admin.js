// Look after the server: create fusions, and manage tokens.

import { ApiError, allows, currentSession, fusionPath, get, request } from "../api.js";
import { confirmed, field, fill, h, moment, notify, select } from "../dom.js";

/** @type {{text: string, title: string, why: string}[]} */
const LEARNERS = [
  { text: "", title: "The default", why: "A mixture of seven learners that needs no settings. It learns whom to trust, for which class, and how much." },
  { text: "Averaged(Winnow(1.2))", title: "Winnow, averaged", why: "One weight per expert, multiplied after mistakes. Fast; best with many experts of which few are good." },
  { text: "Averaged(Perceptron())", title: "Perceptron, averaged", why: "One weight per expert, added to after mistakes. Fast; weights may become negative." },
  { text: "Averaged(Perceptron().on(Votes() + PerClass() + Thresholds()))", title: "Perceptron per class", why: "Also learns what an expert means when it says a class. Needs more labels." },
  { text: "NaiveBayes()", title: "Naive Bayes", why: "Counts how often each expert says what for each class. Good if experts err independently." },
];
const SCOPES = [
  ["read", "see figures, items and models"],
  ["predict", "predict items, and try votes"],
  ["label", "give and replace labels"],
  ["learn", "send items with their labels"],
  ["grow", "bring new experts, classes and attributes"],
  ["admin", "everything, and this page"],
];

/** @param {HTMLElement} main */
export async function show(main) {
  if (!currentSession()?.scopes.includes("admin")) throw new ApiError(403, "forbidden", "the token lacks the scope admin");
  main.append(h("h1", {}, "Admin"), createForm());
  if (allows("admin")) main.append(await tokenSection());
}

function createForm() {
  const name = /** @type {HTMLInputElement} */ (h("input", { required: true, maxlength: "100", pattern: "[A-Za-z0-9][A-Za-z0-9._\\-]*", autocomplete: "off" }));
  const text = /** @type {HTMLInputElement} */ (h("input", { autocomplete: "off", spellcheck: "false", class: "mono" }));
  const classes = /** @type {HTMLInputElement} */ (h("input", { autocomplete: "off" }));
  const closed = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox" }));
  const verdict = h("p", { class: "hint", role: "status" });
  const problem = h("p", { class: "problem", role: "alert" });
  const why = h("p", { class: "hint" }, LEARNERS[0].why);
  let timer = 0;
  let number = 0;

  async function check() {
    const mine = ++number;
    if (!text.value.trim()) return fill(verdict, "Without a text, the default is used.");
    const found = await request("POST", "/dashboard/learner", { learner: text.value.trim() }).catch(() => null);
    if (!found || mine !== number) return;
    text.setAttribute("aria-invalid", String(!found.valid));
    fill(verdict, h("span", { class: found.valid ? "good" : "bad" }, found.valid ? `Valid: ${found.message}` : `Not a learner: ${found.message}`));
  }

  const choice = select(LEARNERS.map((one, i) => ({ value: String(i), label: one.title })), "0", (value) => {
    const one = LEARNERS[Number(value)];
    text.value = one.text;
    why.textContent = one.why;
    check();
  });
  text.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(check, 250);
  });
  check();

  async function create(/** @type {Event} */ event) {
    event.preventDefault();
    problem.textContent = "";
    const listed = classes.value.split(",").map((one) => one.trim()).filter(Boolean);
    /** @type {Record<string, any>} */
    const settings = { on_new_class: closed.checked ? "error" : "add" };
    if (text.value.trim()) settings.learner = text.value.trim();
    if (listed.length) settings.classes = listed;
    const facts = [
      ["Name", name.value],
      ["Learner", settings.learner ?? "the default"],
      ["Classes", listed.length ? listed.join(", ") : "none in advance"],
      ["Other classes", closed.checked ? "are refused" : "are added when they come"],
    ];
    const preview = h("table", {}, h("tbody", {}, facts.map(([key, value]) => h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, value)))));
    if (!(await confirmed("Create this fusion?", [preview], "Create", "main"))) return;
    const path = fusionPath(name.value);
    try {
      const made = await request("PUT", path, settings);
      notify(`${made.name} is created.`, { label: "Open", run: () => (location.hash = `#/fusions/${encodeURIComponent(made.name)}`) });
      name.value = "";
    } catch (error) {
      problem.textContent = error instanceof Error ? `${error.message}.` : String(error);
    }
  }

  return h("form", { class: "card", onsubmit: create }, h("h2", {}, "Create a fusion"),
    h("div", { class: "fields" },
      field("Name", name, "Letters, digits, dots, dashes and underscores."),
      h("div", { class: "field" }, field("Learner", choice), why)),
    field("Learner as text", text, "For example Averaged(Recycled(Winnow(1.2))).on(Votes() + Thresholds())."),
    verdict,
    field("Classes", classes, "Separated by commas, if they are known in advance."),
    h("label", { class: "check" }, closed, "Refuse other classes"),
    problem,
    h("div", { class: "row" }, h("button", { type: "submit", class: "main" }, "Create")));
}

async function tokenSection() {
  const list = h("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Tokens" });
  const secret = h("div", { role: "status" });
  const problem = h("p", { class: "problem", role: "alert" });
  const name = /** @type {HTMLInputElement} */ (h("input", { required: true, maxlength: "100", autocomplete: "off" }));
  const fusions = /** @type {HTMLInputElement} */ (h("input", { required: true, value: "*", autocomplete: "off" }));
  const days = /** @type {HTMLInputElement} */ (h("input", { type: "number", min: "0.01", step: "any", value: "90" }));
  const scopes = SCOPES.map(([scope, text]) => {
    const box = /** @type {HTMLInputElement} */ (h("input", { type: "checkbox", value: scope, checked: scope === "read" }));
    return { box, element: h("label", { class: "check" }, box, h("span", {}, h("strong", {}, scope), `: ${text}`)) };
  });

  async function draw() {
    const { tokens } = await get("/v1/tokens");
    fill(list, h("table", { class: "stack" },
      h("thead", {}, h("tr", {}, ["Name", "Token", "Scopes", "Fusions", "Ends", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "visually-hidden" }, "Action"))))),
      h("tbody", {}, tokens.map((/** @type {any} */ one) => h("tr", {},
        h("th", { scope: "row" }, one.name),
        h("td", { "data-label": "Token" }, String(one.token)),
        h("td", { "data-label": "Scopes" }, one.scopes.join(", ")),
        h("td", { "data-label": "Fusions", class: "mono" }, one.fusions),
        h("td", { "data-label": "Ends" }, one.ends === null ? "never" : moment(one.ends)),
        h("td", {}, h("button", { type: "button", class: "small danger", "aria-label": `Revoke the token ${one.token}, ${one.name}`, onclick: () => revoke(one) }, "Revoke")))))));
  }

  async function revoke(/** @type {any} */ one) {
    const text = [h("p", {}, `Whoever uses the token ${one.token}, ${one.name}, is refused from then on, and pages that are signed in with it end. This cannot be undone.`)];
    if (!(await confirmed(`Revoke ${one.name}?`, text, "Revoke"))) return;
    try {
      await request("DELETE", `/v1/tokens/${one.token}`);
      notify(`The token ${one.name} is revoked.`);
      await draw();
    } catch (error) {
      if (error instanceof ApiError && error.status === 401) window.dispatchEvent(new Event("linmax-signed-out"));
      else notify(`The token was not revoked: ${error instanceof Error ? error.message : error}.`);
    }
  }

  async function create(/** @type {Event} */ event) {
    event.preventDefault();
    problem.textContent = "";
    const chosen = scopes.filter(({ box }) => box.checked).map(({ box }) => box.value);
    if (!chosen.length) {
      problem.textContent = "Choose at least one scope.";
      return;
    }
    const rights = [h("p", {}, `${name.value} may ${chosen.join(", ")} on ${fusions.value}${days.value ? `, for ${days.value} days` : ", without an end"}.`)];
    if (!(await confirmed("Create this token?", rights, "Create", "main"))) return;
    try {
      const made = await request("POST", "/v1/tokens", { name: name.value, scopes: chosen, fusions: fusions.value, ...(days.value ? { days: Number(days.value) } : {}) });
      fill(secret, h("p", {}, "The token is shown only now: ", h("code", { class: "mono" }, made.token)), h("button", { type: "button", class: "small", onclick: () => navigator.clipboard?.writeText(made.token).then(() => notify("The token is copied.")) }, "Copy"));
      name.value = "";
      await draw();
    } catch (error) {
      problem.textContent = error instanceof Error ? `${error.message}.` : String(error);
    }
  }

  await draw();
  return h("section", { class: "card" }, h("h2", {}, "Tokens"), list,
    h("form", { class: "form", onsubmit: create }, h("h3", {}, "Create a token"),
      h("div", { class: "fields" }, field("Token name", name, "Who has it; the log says which token did what."), field("For the fusions", fusions, "A name, or a pattern such as spam-*."), field("Days", days, "Empty: without an end.")),
      h("fieldset", {}, h("legend", {}, "Scopes"), scopes.map(({ element }) => element)),
      problem, h("div", { class: "row" }, h("button", { type: "submit" }, "Create the token")), secret));
}
