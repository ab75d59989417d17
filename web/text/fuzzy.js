// @ts-check
// How well what was typed fits a title: as a part of it, by whole words, or by the letters at which its words begin. Pure.

/** What fits by its words comes after what has them in its title as they were typed, and before mere first letters. */
const BY_WORDS = 400;

/**
 * Higher is better; null where it does not fit.
 * @param {string} typed @param {string} title @param {string} also what else it is called
 */
export function rank(typed, title, also) {
    const own = fit(typed, title);
    return own !== null && own > BY_WORDS ? own : (byWords(typed, title, also) ?? own);
}

/** Every word that was typed begins one of those that name it. @param {string} typed @param {string} title @param {string} also */
function byWords(typed, title, also) {
    const names = wordsOf(`${title} ${also}`);
    const wanted = wordsOf(typed);
    if (wanted.length === 0 || !wanted.every((word) => names.some((name) => name.startsWith(word))))
        return null;
    // A word said in full is meant.
    return BY_WORDS + wanted.filter((word) => names.includes(word)).length - title.length / 100;
}

/** @param {string} text @returns {string[]} */
const wordsOf = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];

/**
 * Letters count where they begin a word or follow the one before; scattered ones would fit anything.
 * @param {string} typed @param {string} title @returns {number | null}
 */
export function fit(typed, title) {
    const wanted = typed.toLowerCase().replace(/\s+/g, '');
    const text = title.toLowerCase();
    if (!wanted) return 0;
    const whole = text.indexOf(typed.toLowerCase().trim());
    if (whole >= 0) return 1000 - whole + (isStart(text, whole) ? 500 : 0);
    const score = initials(wanted, text, 0, -1);
    return score === null ? null : score - text.length / 100;
}

/** @param {string} wanted @param {string} text @param {number} from the letter that is looked for @param {number} at where the one before it was found @returns {number | null} */
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

/** @param {string} text @param {number} at */
const isStart = (text, at) => at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]);
