// @ts-check
// Per-output settings that this tab keeps across reloads: image widths, frame heights, collapsed
// outputs.

/** The most outputs remembered; the oldest are dropped. */
const MOST = 1000;

const storageKey = () => `ratoon.${document.getElementById('page')?.dataset.notebook ?? ''}.outputs`;

/** @type {Map<string, any> | null} */
let kept = null;

function all() {
    try {
        kept ??= new Map(JSON.parse(sessionStorage.getItem(storageKey()) ?? '[]'));
    } catch {
        kept = new Map();
    }
    return kept;
}

/** @param {string} key @returns {any} */
export const recall = (key) => all().get(key);

/** @param {string} key @param {any} value undefined removes the setting */
export function keep(key, value) {
    const map = all();
    map.delete(key);
    if (value !== undefined) map.set(key, value);
    for (const old of map.keys()) {
        if (map.size <= MOST) break;
        map.delete(old);
    }
    try {
        sessionStorage.setItem(storageKey(), JSON.stringify([...map]));
    } catch {
        // Without storage, the settings last until the next reload.
    }
}
