// @ts-check
// Where a caret goes when code is formatted. Pure.

/** The characters that a formatter keeps: it changes only the space and the quotes around words. */
const WORD = /[\p{L}\p{N}_]/u;

/**
 * The caret's offset in the formatted code: after the same word character as before formatting, and
 * after the same number of spaces and quotes that follow this character, if there are so many.
 * @param {string} before
 * @param {string} after the formatted code
 * @param {number} caret in `before`
 */
export function caretAfter(before, after, caret) {
    let words = 0;
    let gap = 0;
    for (const one of before.slice(0, caret)) {
        const isWord = WORD.test(one);
        words += isWord ? 1 : 0;
        gap = isWord ? 0 : gap + 1;
    }
    let at = 0;
    for (const one of after) {
        const isWord = WORD.test(one);
        if (isWord ? words === 0 : words === 0 && gap === 0) break;
        if (isWord) words -= 1;
        else if (words === 0) gap -= 1;
        at += one.length;
    }
    return at;
}
