// @ts-check
// Find and replace in the texts of a notebook. Pure.

/** @typedef {{text: string, isCase: boolean, isWord: boolean, isRegex: boolean}} Query */
/** @typedef {{from: number, to: number}} Span Offsets in UTF-16 units. */

/** The most matches found. Each one is highlighted, which takes time. */
const MOST = 10_000;

/**
 * The pattern of a query; null if empty, an error text if invalid.
 * @param {Query} query
 * @returns {RegExp | string | null}
 */
export function patternOf({ text, isCase, isWord, isRegex }) {
    if (!text) return null;
    const literal = isRegex ? `(?:${text})` : text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    const source = isWord ? `(?<![\\p{L}\\p{N}_])${literal}(?![\\p{L}\\p{N}_])` : literal;
    try {
        return new RegExp(source, `gm${isCase ? '' : 'i'}${isWord || isRegex ? 'u' : ''}`);
    } catch (error) {
        return String(/** @type {Error} */ (error).message);
    }
}

/** @param {string} text @param {RegExp} pattern @param {number} [most] @returns {Span[]} */
export function matchesIn(text, pattern, most = MOST) {
    /** @type {Span[]} */
    const places = [];
    for (const found of text.matchAll(pattern)) {
        if (places.length >= most) break;
        if (found[0]) places.push({ from: found.index, to: found.index + found[0].length });
    }
    return places;
}

/**
 * Replaces all matches in a text, or the one that begins at `only`.
 * @param {string} text
 * @param {RegExp} pattern
 * @param {string} by with `$1` and `$<name>` where the pattern is a regular expression
 * @param {boolean} isRegex
 * @param {number} [only]
 */
export function replaceIn(text, pattern, by, isRegex, only) {
    let last = 0;
    let made = '';
    for (const found of text.matchAll(pattern)) {
        if (!found[0] || (only !== undefined && found.index !== only)) continue;
        made += text.slice(last, found.index) + (isRegex ? filled(by, found) : by);
        last = found.index + found[0].length;
    }
    return made + text.slice(last);
}

/** @param {string} by @param {RegExpMatchArray} found */
function filled(by, found) {
    return by.replace(
        /\$(?:(\$)|(&)|(\d{1,2})|<([^>]*)>)|\\([nt\\])/g,
        (all, dollar, whole, number, name, escaped) => {
            if (dollar) return '$';
            if (whole) return found[0];
            if (number !== undefined)
                return Number(number) < found.length ? (found[Number(number)] ?? '') : all;
            if (name !== undefined) return found.groups?.[name] ?? '';
            return { n: '\n', t: '\t', '\\': '\\' }[/** @type {'n' | 't' | '\\'} */ (escaped)];
        },
    );
}

/**
 * The next match after (or, backwards, before) a position; wraps around.
 * @template {{cell: number, from: number}} P
 * @param {P[]} places in order
 * @param {{cell: number, at: number}} here
 * @param {1 | -1} step
 * @returns {number} its index; -1 if there is no match
 */
export function nextMatch(places, { cell, at }, step) {
    if (step === 1) {
        const next = places.findIndex(
            (match) => match.cell > cell || (match.cell === cell && match.from >= at),
        );
        return next < 0 && places.length ? 0 : next;
    }
    const before = places.findLastIndex(
        (match) => match.cell < cell || (match.cell === cell && match.from < at),
    );
    return before < 0 ? places.length - 1 : before;
}
