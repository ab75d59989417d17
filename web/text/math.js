// @ts-check
// Where mathematics is in a text, as LaTeX writes it. Pure.

/** @typedef {{tex: string, isDisplay: boolean}} Formula */

/** Longer ones are text: nobody reads them, and the typesetter would take its time. In characters. */
const LONGEST = 20_000;

/** Opening, closing, whether it stands by itself. The doubled backslash is how Jupyter's users write it in Markdown. */
const PAIRS = /** @type {[string, string, boolean][]} */ ([
    ['$$', '$$', true], ['\\\\[', '\\\\]', true], ['\\\\(', '\\\\)', false], ['\\[', '\\]', true], ['\\(', '\\)', false],
]);
const BEGIN = /\\begin\{([a-zA-Z]+\*?)\}/y;

/**
 * The formula that begins at a place of a text, and where it ends; null where there is none.
 * @param {string} text @param {number} at @returns {(Formula & {end: number}) | null}
 */
export function formulaAt(text, at) {
    const first = text[at];
    if (first !== '$' && first !== '\\') return null;
    for (const [open, close, isDisplay] of PAIRS) {
        if (!text.startsWith(open, at)) continue;
        const end = text.indexOf(close, at + open.length);
        if (end > at + open.length && end - at < LONGEST) return { tex: text.slice(at + open.length, end).trim(), isDisplay, end: end + close.length };
        return null;
    }
    BEGIN.lastIndex = at;
    const found = BEGIN.exec(text);
    if (found) {
        const close = `\\end{${found[1]}}`;
        const end = text.indexOf(close, BEGIN.lastIndex);
        return end < 0 || end - at > LONGEST ? null : { tex: text.slice(at, end + close.length), isDisplay: true, end: end + close.length };
    }
    return first === '$' ? dollars(text, at) : null;
}

/** `$x$`, not `$5 and $6`: no space inside, no digit after. @param {string} text @param {number} at */
function dollars(text, at) {
    if (/[\s$]/.test(text[at + 1] ?? ' ')) return null;
    for (let end = at + 1; end < text.length && end - at < LONGEST; end += 1) {
        if (text[end] === '\\') end += 1;
        else if (text[end] === '\n' && text[end + 1] === '\n') return null;
        else if (text[end] === '$') return /\s/.test(text[end - 1]) || /\d/.test(text[end + 1] ?? '') ? null : { tex: text.slice(at + 1, end), isDisplay: false, end: end + 1 };
    }
    return null;
}

/** Text and formulas in turn. @param {string} text @returns {(string | Formula)[]} */
export function withFormulas(text) {
    /** @type {(string | Formula)[]} */
    const parts = [];
    let plain = '';
    for (let at = 0; at < text.length;) {
        const found = formulaAt(text, at);
        if (found) {
            if (plain) parts.push(plain);
            plain = '';
            parts.push({ tex: found.tex, isDisplay: found.isDisplay });
            at = found.end;
        } else {
            plain += text[at];
            at += 1;
        }
    }
    if (plain) parts.push(plain);
    return parts;
}
