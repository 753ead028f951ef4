// Requests to the server. Changes carry the CSRF token of the session.

import { byId } from "./dom.js";

/** @typedef {{name: string, scopes: string[], fusions: string, ends: number, csrf: string, version: string}} Session */

export class ApiError extends Error {
  /** @param {number} status 0: the server cannot be reached @param {string} code @param {string} message */
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** @type {Session | null} */
let session = null;

/** @param {Session | null} found */
export function setSession(found) {
  session = found;
}

export const currentSession = () => session;

/**
 * Send a request and return its answer.
 * @param {string} method
 * @param {string} path
 * @param {any} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
export async function request(method, path, body, signal) {
  /** @type {Record<string, string>} */
  const headers = {};
  if (body !== undefined) headers["content-type"] = "application/json";
  if (method !== "GET" && session) headers["x-csrf-token"] = session.csrf;
  let answer;
  try {
    answer = await fetch(path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), signal });
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    setStatus("offline", "The server cannot be reached");
    throw new ApiError(0, "offline", "the server cannot be reached");
  }
  if (byId("status").dataset.state === "offline") setStatus("", "");
  if (answer.status === 204) return null;
  const content = await answer.json().catch(() => null);
  if (answer.ok) return content;
  const message = content?.error?.message ?? `the server has answered ${answer.status}`;
  throw new ApiError(answer.status, content?.error?.code ?? "error", message);
}

/** @param {string} path @param {AbortSignal} [signal] */
export const get = (path, signal) => request("GET", path, undefined, signal);

/** The path of a fusion. @param {string} name @param {string} [rest] */
export const fusionPath = (name, rest = "") => `/v1/fusions/${encodeURIComponent(name)}${rest}`;

/** The path of what only this page asks for about a fusion. @param {string} name @param {string} rest */
export const figuresPath = (name, rest) => `/dashboard/fusions/${encodeURIComponent(name)}${rest}`;

/**
 * Show in the header whether what is shown is current.
 * @param {"" | "live" | "waiting" | "offline"} state
 * @param {string} text
 */
export function setStatus(state, text) {
  const element = byId("status");
  element.dataset.state = state;
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Whether the session may do something with a fusion, or with the server.
 * @param {string} scope
 * @param {string} [fusion]
 */
export function allows(scope, fusion) {
  if (!session || !(session.scopes.includes(scope) || session.scopes.includes("admin"))) return false;
  if (fusion === undefined) return session.fusions === "*";
  return matches(fusion, session.fusions);
}

/** Match a name with a pattern of * and ?, as the server does. @param {string} name @param {string} pattern */
export function matches(name, pattern) {
  const escaped = pattern.replace(/[.+^${}()|\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".").replace(/\[!/g, "[^");
  try {
    return new RegExp(`^${escaped}$`, "s").test(name);
  } catch {
    return false;
  }
}
