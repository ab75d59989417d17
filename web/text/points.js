// @ts-check
// Places in a text: the page counts UTF-16 units, as JavaScript does; the server counts Unicode code points. Pure.

/** How many code points stand before a place. @param {string} text @param {number} units the place, in UTF-16 units */
export function toPoints(text, units) {
    let points = 0;
    for (let at = 0; at < units; points += 1) at += width(text, at);
    return points;
}

/** Where the place behind so many code points is, in UTF-16 units; the text's end where it has fewer. @param {string} text @param {number} points */
export function toUnits(text, points) {
    let at = 0;
    for (let left = points; left > 0 && at < text.length; left -= 1) at += width(text, at);
    return at;
}

/** @param {string} text @param {number} at */
const width = (text, at) => ((text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1);
