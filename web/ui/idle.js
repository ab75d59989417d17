// @ts-check
// Does what nobody waits for while the browser has nothing else to do.

/** How long a busy page may delay it, in ms. */
const LATEST = 500;
/** The least time left in an idle period for another function, in ms. */
const LEAST = 5;

/** @type {(() => void)[]} */
const waiting = [];
let isRequested = false;

/** Calls functions in the order in which they are given, each once. @param {() => void} what */
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
    try {
        do waiting.shift()?.();
        while (waiting.length > 0 && deadline && (deadline.didTimeout || deadline.timeRemaining() > LEAST));
    } finally {
        request();
    }
}
