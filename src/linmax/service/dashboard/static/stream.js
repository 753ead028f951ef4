// The events of a fusion as they happen. The browser connects again by itself, and goes on after the last one.

import { fusionPath, get, setStatus } from "./api.js";

/** @typedef {{kind: string, id?: string, time: number, right?: boolean, label?: any, prediction?: any}} ServiceEvent */

const KINDS = ["predicted", "labelled", "learned", "relabelled", "excluded", "deleted"];
const AGAIN = 2000; // milliseconds
const REST = 4; // a page that asks for much rests so many times as long as the answer took

/**
 * Follow a fusion until the returned function is called. While the page is hidden, nothing is connected.
 * @param {string} name
 * @param {(events: ServiceEvent[]) => void} received events of one moment; empty after a new connection
 * @returns {() => void}
 */
export function follow(name, received) {
  /** @type {EventSource | null} */
  let source = null;
  /** @type {ServiceEvent[]} */
  let waiting = [];
  let planned = 0;
  let timer = 0;
  let ended = false;

  function flush() {
    planned = 0;
    const events = waiting;
    waiting = [];
    if (!ended) received(events);
  }

  function open() {
    source = new EventSource(fusionPath(name, "/events"));
    let first = true;
    source.onopen = () => {
      setStatus("live", "Live");
      if (!first) received([]);
      first = false;
    };
    source.onerror = () => {
      setStatus("waiting", "Connecting again");
      if (source?.readyState === EventSource.CLOSED) again();
    };
    for (const kind of KINDS) {
      source.addEventListener(kind, (event) => {
        waiting.push({ kind, ...JSON.parse(event.data) });
        if (!planned) planned = setTimeout(flush, 50);
      });
    }
  }

  /** The server has refused: because the session has ended, or for a while. */
  async function again() {
    source?.close();
    source = null;
    const session = await get("/session").catch(() => undefined);
    if (ended) return;
    if (session === null) {
      window.dispatchEvent(new Event("linmax-signed-out"));
      return;
    }
    timer = setTimeout(() => {
      if (ended || document.hidden) return;
      open();
      received([]);
    }, AGAIN);
  }

  function changed() {
    clearTimeout(timer);
    if (document.hidden) {
      source?.close();
      source = null;
      setStatus("waiting", "Paused");
    } else if (!source) {
      open();
      received([]);
    }
  }

  document.addEventListener("visibilitychange", changed);
  open();
  return () => {
    ended = true;
    clearTimeout(timer);
    clearTimeout(planned);
    source?.close();
    document.removeEventListener("visibilitychange", changed);
    setStatus("", "");
  };
}

/**
 * Return a function that calls another one at once, and later at most once in so many milliseconds. A call that
 * is urgent, because a person waits for it, does not wait.
 * @param {() => Promise<void>} run
 * @param {number} pause
 * @returns {(urgent?: boolean) => Promise<void>}
 */
export function throttled(run, pause) {
  let busy = false;
  let wanted = false;
  let wake = () => {};
  return async function call(urgent = false) {
    wanted = true;
    if (urgent) wake();
    if (busy) return;
    busy = true;
    while (wanted) {
      wanted = false;
      const start = performance.now();
      await run();
      const rest = Math.max(pause, REST * (performance.now() - start));
      await new Promise((resolve) => {
        wake = () => resolve(undefined);
        setTimeout(wake, rest);
      });
    }
    busy = false;
  };
}
