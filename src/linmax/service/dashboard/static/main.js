// The frame: who is signed in, which view is shown, and what happens when a view cannot be shown.

import { ApiError, currentSession, get, request, setSession, setStatus } from "./api.js";
import { byId, fill, h, notify, pageState } from "./dom.js";

/**
 * A view fills an element, and returns what ends it.
 * @typedef {{show: (main: HTMLElement, ...words: string[]) => Promise<(() => void) | void>}} View
 */

/** @type {[RegExp, () => Promise<View>][]} */
const ROUTES = [
  [/^$/, () => import("./views/overview.js")],
  [/^fusions\/([^/]+)$/, () => import("./views/fusion.js")],
  [/^fusions\/([^/]+)\/items$/, () => import("./views/items.js")],
  [/^fusions\/([^/]+)\/items\/(.+)$/, () => import("./views/item.js")],
  [/^fusions\/([^/]+)\/try$/, () => import("./views/try.js")],
  [/^fusions\/([^/]+)\/manage$/, () => import("./views/manage.js")],
  [/^admin$/, () => import("./views/admin.js")],
];

/** @type {(() => void) | void} */
let leave;
let visits = 0;

async function route() {
  const visit = ++visits;
  const words = location.hash.replace(/^#\/?/, "");
  const code = words.match(/^sign-in\/(.+)$/);
  if (code) {
    history.replaceState(null, "", "#/");
    await signInWith({ code: decodeURIComponent(code[1]) });
    return;
  }
  const main = byId("main");
  if (leave) leave();
  leave = undefined;
  setStatus("", "");
  if (!currentSession()) return showSignIn();
  showNavigation(words);
  const found = ROUTES.map(([pattern, load]) => ({ match: words.match(pattern), load })).find((one) => one.match);
  const names = found?.match && decoded(found.match.slice(1));
  if (!found || !names) return fill(main, pageState("There is no such page", "", h("a", { class: "button", href: "#/" }, "To the overview")));
  fill(main, h("p", { class: "state" }, "Loading."));
  try {
    const view = await found.load();
    const page = h("div", { class: "page" });
    const end = await view.show(page, ...names);
    if (visit !== visits) return end && end();
    leave = end;
    main.replaceChildren(...page.childNodes);
    const heading = main.querySelector("h1")?.textContent;
    document.title = heading ? `${heading} · linmax` : "linmax";
  } catch (error) {
    if (visit === visits) showFailure(error);
  }
}

/** The names in an address; null if it is not well formed. @param {string[]} words */
function decoded(words) {
  try {
    return words.map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Say why a view cannot be shown. @param {any} error */
export function showFailure(error) {
  const main = byId("main");
  const again = h("button", { type: "button", class: "main", onclick: route }, "Try again");
  const home = h("a", { class: "button", href: "#/" }, "To the overview");
  if (!(error instanceof ApiError)) {
    console.error(error);
    return fill(main, pageState("The page has failed", String(error?.message ?? error), again));
  }
  if (error.status === 401) return signedOut();
  if (error.status === 0) return fill(main, pageState("Offline", "The server cannot be reached. The page tries again by itself.", again)), retryLater();
  if (error.status === 403) return fill(main, pageState("Not allowed", `${sentence(error.message)} Sign in with another token, or ask its owner.`, home));
  if (error.status === 404) return fill(main, pageState("Not found", sentence(error.message), home));
  return fill(main, pageState("The server has refused", sentence(error.message), again));
}

/** @param {string} text */
const sentence = (text) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

function retryLater() {
  const visit = visits;
  const timer = setInterval(async () => {
    if (visit !== visits) return clearInterval(timer);
    try {
      await get("/session");
    } catch (error) {
      if (error instanceof ApiError && error.status === 0) return;
    }
    clearInterval(timer);
    if (visit === visits) route();
  }, 2000);
}

/** The session has ended: by time, by signing out elsewhere, or because the token was revoked. */
export function signedOut() {
  if (!currentSession()) return;
  setSession(null);
  notify("The session has ended. Sign in again.");
  route();
}

function showNavigation(/** @type {string} */ words) {
  const current = (/** @type {boolean} */ is) => (is ? { "aria-current": "page" } : {});
  const session = currentSession();
  const admin = session?.scopes.includes("admin");
  fill(
    byId("nav"),
    h("a", { href: "#/", ...current(words === "") }, "Overview"),
    admin ? h("a", { href: "#/admin", ...current(words === "admin") }, "Admin") : null,
  );
  fill(
    byId("account"),
    h("span", { class: "who", title: `Scopes: ${session?.scopes.join(", ")}` }, session?.name),
    themeButton(),
    h("button", { type: "button", class: "small", onclick: signOut }, "Sign out"),
  );
}

async function showSignIn() {
  fill(byId("nav"));
  fill(byId("account"), themeButton());
  document.title = "Sign in · linmax";
  const { signInForm } = await import("./views/sign_in.js");
  fill(byId("main"), signInForm((token) => signInWith({ token })));
}

/** @param {{token?: string, code?: string}} given */
async function signInWith(given) {
  try {
    setSession(await request("POST", "/session", given));
  } catch (error) {
    if (given.token !== undefined) throw error;
    if (!currentSession()) await showSignIn();
    notify(error instanceof Error ? sentence(error.message) : String(error));
    if (!currentSession()) return;
  }
  await route();
}

async function signOut() {
  try {
    await request("DELETE", "/session");
  } catch (error) {
    if (!(error instanceof ApiError && error.status === 401)) return notify("Signing out has failed. Try again.");
  }
  setSession(null);
  history.replaceState(null, "", "#/");
  route();
}

function themeButton() {
  const root = document.documentElement;
  const dark = () => (root.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const button = h("button", { type: "button", class: "small", "aria-pressed": String(dark()) }, "Dark");
  button.addEventListener("click", () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try {
      localStorage.setItem("linmax-theme", root.dataset.theme);
    } catch {
      // it lasts until the page is closed
    }
    button.setAttribute("aria-pressed", String(dark()));
    window.dispatchEvent(new Event("linmax-theme"));
  });
  return button;
}

async function start() {
  document.querySelector(".skip")?.addEventListener("click", (event) => {
    event.preventDefault();
    byId("main").focus();
  });
  window.addEventListener("hashchange", route);
  window.addEventListener("linmax-signed-out", signedOut);
  try {
    setSession(await get("/session"));
  } catch (error) {
    if (error instanceof ApiError && error.status === 0) return showFailure(error);
  }
  await route();
}

start();
