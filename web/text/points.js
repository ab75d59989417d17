// @ts-check
// Converts offsets: the page counts UTF-16 units, the server counts Unicode code points. Pure.

/**
 * The number of code points before an offset.
 * @param {string} text
 * @param {number} units the offset in UTF-16 units
 */
export function toPoints(text, units) {
    let points = 0;
    for (let at = 0; at < units; points += 1) at += width(text, at);
    return points;
}

/**
 * The UTF-16 offset after a number of code points; at most the length of the text.
 * @param {string} text
 * @param {number} points
 */
export function toUnits(text, points) {
    let at = 0;
    for (let left = points; left > 0 && at < text.length; left -= 1) at += width(text, at);
    return at;
}

/** @param {string} text @param {number} at */
const width = (text, at) => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
