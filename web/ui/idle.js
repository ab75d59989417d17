// @ts-check
// Does what nobody waits for while the browser has nothing else to do.

/** How long a busy page may delay it, in ms. */
const LATEST = 500;
/** The least time left in an idle period for another function, in ms. */
const LEAST = 5;

/** @typedef {() => (() => void) | void} Work */

/** @type {Work[]} */
const waiting = [];
let isRequested = false;

/**
 * Calls functions in the order in which they are given, each once.
 * @param {Work} what may return a function that changes the page. It is called at the end of the
 *   idle period, so that no other function waits for the layout of the changed page.
 */
export function whenIdle(what) {
    waiting.push(what);
    request();
}

function request() {
    if (isRequested || waiting.length === 0) return;
    isRequested = true;
    // Safari has no idle periods.
    if ('requestIdleCallback' in window) requestIdleCallback(work, { timeout: LATEST });
    else setTimeout(work);
}

/** @param {IdleDeadline} [deadline] */
function work(deadline) {
    isRequested = false;
    const changes = [];
    try {
        do changes.push(waiting.shift()?.());
        while (waiting.length > 0 && deadline && (deadline.didTimeout || deadline.timeRemaining() > LEAST));
    } finally {
        for (const change of changes) change?.();
        request();
    }
}
