// @ts-check
// Find and replace in the texts of a notebook: cells and their outputs. Pure.

/** @typedef {{text: string, isCase: boolean, isWord: boolean, isRegex: boolean}} Query */
/** @typedef {{from: number, to: number}} Span Offsets in UTF-16 units. */
/**
 * @typedef {{cell: number, part?: number, at: number}} Position
 *   `cell`: the cell's index; `part`: 0 or missing for its code, k for its k-th output; `at`: the
 *   offset in that text.
 */

/**
 * @typedef {{spans: Span[], isCut: boolean}} Matches The matches in a text. `isCut`: whether there
 *   are more of them.
 */

/** The maximum number of matches in one text. Highlighting each match takes time. */
const MOST = 10_000;

/**
 * The regular expression of a query; null if the query is empty; an error text if the query is an
 * invalid regular expression.
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

/** @param {string} text @param {RegExp} pattern @returns {Matches} */
export function matchesIn(text, pattern) {
    /** @type {Span[]} */
    const spans = [];
    for (const found of text.matchAll(pattern)) {
        if (!found[0]) continue;
        if (spans.length === MOST) return { spans, isCut: true };
        spans.push({ from: found.index, to: found.index + found[0].length });
    }
    return { spans, isCut: false };
}

/**
 * Replaces all matches in a text, or only the match that begins at `only`.
 * @param {string} text
 * @param {RegExp} pattern
 * @param {string} by the replacement
 * @param {boolean} isRegex whether `$1`, `$<name>` and `\n` in `by` have a special meaning
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

/**
 * Fills in the groups of a match in a replacement.
 * @param {string} by
 * @param {RegExpMatchArray} found
 */
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
 * The next match at or after a position, or the last match before it. Wraps around at the ends.
 * @template {{cell: number, part?: number, from: number}} P
 * @param {P[]} places all matches, in order
 * @param {Position} here
 * @param {1 | -1} step 1: the next match; -1: the match before
 * @returns {number} the index of the match; -1 if `places` is empty
 */
export function nextMatch(places, here, step) {
    if (step === 1) {
        const next = places.findIndex((match) => !isBefore(match, here));
        return next < 0 && places.length ? 0 : next;
    }
    const before = places.findLastIndex((match) => isBefore(match, here));
    return before < 0 ? places.length - 1 : before;
}

/** @param {{cell: number, part?: number, from: number}} match @param {Position} here */
const isBefore = (match, here) =>
    (match.cell - here.cell || (match.part ?? 0) - (here.part ?? 0) || match.from - here.at) < 0;
