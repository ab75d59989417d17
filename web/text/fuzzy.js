// @ts-check
// How well a few typed letters fit a title: all of them must stand in it, in order. Pure.

/**
 * Higher is better; null where they do not fit. Letters at the beginnings of words and letters that stand together count more.
 * @param {string} typed @param {string} title @returns {number | null}
 */
export function fit(typed, title) {
    const wanted = typed.toLowerCase().replace(/\s+/g, '');
    const text = title.toLowerCase();
    if (!wanted) return 0;
    const whole = text.indexOf(typed.toLowerCase().trim());
    if (whole >= 0) return 1000 - whole + (isStart(text, whole) ? 500 : 0);
    let [score, at] = [0, -1];
    for (const letter of wanted) {
        const next = nextPlace(text, letter, at + 1);
        if (next < 0) return null;
        score += isStart(text, next) ? 10 : next === at + 1 ? 6 : 1;
        at = next;
    }
    return score - text.length / 100;
}

/** The beginning of a word is preferred to any other place. @param {string} text @param {string} letter @param {number} from */
function nextPlace(text, letter, from) {
    if (text[from] === letter) return from;
    for (let at = text.indexOf(letter, from); at >= 0; at = text.indexOf(letter, at + 1)) if (isStart(text, at)) return at;
    return text.indexOf(letter, from);
}

/** @param {string} text @param {number} at */
const isStart = (text, at) => at === 0 || /[^\p{L}\p{N}]/u.test(text[at - 1]);
