// @ts-check
// The height of a frame before its content has reported one. Pure, except for the stored heights.

import { keep, recall } from './output-settings.js';

/** Heights in px of the parts of a pandas table and its surroundings; from frame.html. */
const ROW = 27.5;
const RULE = 1;
const LINE_ABOVE = 21;
const LINE_BELOW = 24;
const EDGE = 2;

/**
 * The storage key of a height. It contains the width at which the height was measured.
 * @param {string} id
 * @param {number} width
 */
const keyOf = (id, width) => `height ${id} at ${width}`;

/**
 * The stored height of the output at this width, in px; else an estimate; else 0.
 * @param {string} id @param {number} width @param {string} content
 */
export function reservedHeight(id, width, content) {
    const known = recall(keyOf(id, width));
    return typeof known === 'number' ? known : estimatedHeight(content);
}

/** @param {string} id @param {number} width @param {number} height */
export const rememberHeight = (id, width, height) => keep(keyOf(id, width), height);

/** The height in px of a pandas or polars table; 0 for other content. @param {string} content */
export function estimatedHeight(content) {
    const count = (/** @type {RegExp} */ pattern) => content.match(pattern)?.length ?? 0;
    const tables = count(/<table\b[^>]*\bclass="dataframe"/g);
    if (tables === 0 || count(/<(?:table|script|img|svg|iframe)\b/g) !== tables) return 0;
    const lines = LINE_ABOVE * count(/<small\b/g) + LINE_BELOW * count(/<\/table>\s*<p\b/g);
    return Math.ceil(ROW * count(/<tr\b/g) + RULE * tables + lines + EDGE);
}
