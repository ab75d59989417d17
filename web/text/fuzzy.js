// @ts-check
// How well a query matches a title: as a substring, by whole words, or by the initial letters of
// words. Pure.

/** The base score of matches by words: below substrings of the title, above initials. */
const BY_WORDS = 400;

/**
 * Higher is better; null for no match.
 * @param {string} typed
 * @param {string} title
 * @param {string} also other names
 */
export function rank(typed, title, also) {
    const own = fit(typed, title);
    return own !== null && own > BY_WORDS ? own : (byWords(typed, title, also) ?? own);
}

/**
 * The score if each word of the query begins a word of the title or of the other names.
 * @param {string} typed
 * @param {string} title
 * @param {string} also
 */
function byWords(typed, title, also) {
    const names = wordsOf(`${title} ${also}`);
    const wanted = wordsOf(typed);
    if (wanted.length === 0 || !wanted.every((word) => names.some((name) => name.startsWith(word))))
        return null;
    // A complete word is a better match than its beginning.
    return BY_WORDS + wanted.filter((word) => names.includes(word)).length - title.length / 100;
}

/** @param {string} text @returns {string[]} */
const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * The score as a substring or by initials. Letters match only at the beginning of a word or
 * directly after the previous match, because scattered letters would match almost any title.
 * @param {string} typed
 * @param {string} title
 * @returns {number | null}
 */
export function fit(typed, title) {
    const wanted = typed.toLowerCase().replace(/\s+/g, '');
    const text = title.toLowerCase();
    if (!wanted) return 0;
    const query = typed.toLowerCase().trim();
    const whole = text.indexOf(query);
    if (whole >= 0)
        return (
            1000 - whole + (isStart(text, whole) ? 500 : 0) + (isEnd(text, whole + query.length) ? 0.5 : 0)
        );
    const score = initials(wanted, text, 0, -1);
    return score === null ? null : score - text.length / 100;
}

/**
 * @param {string} wanted
 * @param {string} text
 * @param {number} from the index of the letter to find
 * @param {number} at the offset of the previous match
 * @returns {number | null}
 */
function initials(wanted, text, from, at) {
    const letter = wanted[from];
    if (letter === undefined) return 0;
    if (from > 0 && text[at + 1] === letter) {
        const rest = initials(wanted, text, from + 1, at + 1);
        if (rest !== null) return rest + 6;
    }
    for (let next = text.indexOf(letter, at + 1); next >= 0; next = text.indexOf(letter, next + 1)) {
        const rest = isStart(text, next) ? initials(wanted, text, from + 1, next) : null;
        if (rest !== null) return rest + 10;
    }
    return null;
}

/** Whether a word ends before this offset. @param {string} text @param {number} at */
const isEnd = (text, at) => at === text.length || /[^\p{L}\p{N}]/u.test(text[at] ?? '');
/** Whether a word begins at this offset. @param {string} text @param {number} at */
const isStart = (text, at) => at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1] ?? '');
