// @ts-check
// Per-output settings that this tab keeps across reloads: image widths, frame heights, collapsed
// outputs.

import { TabMap } from '../ui/tab-map.js';

/** The most outputs remembered; the oldest are dropped. */
const MOST = 1000;

const settings = new TabMap('outputs');

/** @param {string} key @returns {any} */
export const recall = (key) => settings.all.get(key);

/** @param {string} key @param {any} value undefined removes the setting */
export function keep(key, value) {
    const map = settings.all;
    map.delete(key);
    if (value !== undefined) map.set(key, value);
    for (const old of map.keys()) {
        if (map.size <= MOST) break;
        map.delete(old);
    }
    settings.store();
}
