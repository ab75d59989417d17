// @ts-check
// Finds LaTeX formulas in a text. Pure.

/** @typedef {{tex: string, isDisplay: boolean}} Formula */

/**
 * The longest formula, in characters. Longer ones stay text, because rendering would take too long.
 */
const LONGEST = 20_000;

/**
 * The greatest nesting of braces, environments and `\left` in a formula. Browsers lay out nested
 * elements recursively. At about 150 levels the tab crashes, and crashes again whenever the
 * notebook is opened.
 */
const DEEPEST = 50;

/**
 * Opening delimiter, closing delimiter, whether the formula is a display formula. The variants with
 * a double backslash are common in Jupyter's Markdown.
 */
const PAIRS = /** @type {[string, string, boolean][]} */ ([
    ['$$', '$$', true],
    ['\\\\[', '\\\\]', true],
    ['\\\\(', '\\\\)', false],
    ['\\[', '\\]', true],
    ['\\(', '\\)', false],
]);
const BEGIN = /\\begin\{([a-zA-Z]{1,40}\*?)\}/y;
const END = /\\end\{([a-zA-Z]{1,40}\*?)\}/g;

/**
 * Finds strings in a text that is read from left to right. Each position is searched only once.
 */
class Places {
    /** @param {string} text */
    constructor(text) {
        this.text = text;
        /**
         * The last position found, and where that search began.
         * @type {Map<string, {from: number, at: number}>}
         */
        this.found = new Map();
        /** The ends of environments, by name. @type {Map<string, number[]> | null} */
        this.ends = null;
    }

    /**
     * @param {string} what
     * @param {number} from
     * @returns {number} the first offset of `what` at or after `from`, or -1
     */
    next(what, from) {
        const last = this.found.get(what);
        if (last && last.from <= from && (last.at < 0 || last.at >= from)) return last.at;
        const at = this.text.indexOf(what, from);
        this.found.set(what, { from, at });
        return at;
    }

    /** @param {string} name of an environment @param {number} from @returns {number} */
    end(name, from) {
        if (!this.ends) {
            this.ends = new Map();
            for (const { 1: one = '', index } of this.text.matchAll(END)) {
                const known = this.ends.get(one);
                if (known) known.push(index);
                else this.ends.set(one, [index]);
            }
        }
        const all = this.ends.get(name) ?? [];
        let [low, high] = [0, all.length];
        while (low < high) {
            const middle = (low + high) >> 1;
            if ((all[middle] ?? Infinity) < from) low = middle + 1;
            else high = middle;
        }
        return all[low] ?? -1;
    }

    /**
     * @param {number} from
     * @returns {number} the offset of the next unescaped dollar; if there is none in the paragraph,
     *   the end of the paragraph or of the text
     */
    dollar(from) {
        const last = this.found.get('$');
        if (last && last.from <= from && last.at >= from) return last.at;
        const { text } = this;
        let at = from;
        while (at < text.length && text[at] !== '$' && !(text[at] === '\n' && text[at + 1] === '\n'))
            at += text[at] === '\\' ? 2 : 1;
        this.found.set('$', { from, at });
        return at;
    }
}

/** The cached positions in the last text. */
let places = new Places('');

/** @param {string} text */
function placesOf(text) {
    if (places.text !== text) places = new Places(text);
    return places;
}

/**
 * The formula that begins at an offset, and where it ends; null if there is none.
 * @param {string} text
 * @param {number} at
 * @returns {(Formula & {end: number}) | null}
 */
export function formulaAt(text, at) {
    const first = text[at];
    if (first !== '$' && first !== '\\') return null;
    const known = placesOf(text);
    for (const [open, close, isDisplay] of PAIRS) {
        if (!text.startsWith(open, at)) continue;
        const end = known.next(close, at + open.length);
        if (end > at + open.length && end - at < LONGEST)
            return { tex: text.slice(at + open.length, end).trim(), isDisplay, end: end + close.length };
        return null;
    }
    BEGIN.lastIndex = at;
    const found = BEGIN.exec(text);
    if (found) {
        const [, name = ''] = found;
        const end = known.end(name, BEGIN.lastIndex);
        const after = end + name.length + '\\end{}'.length;
        return end < 0 || end - at > LONGEST
            ? null
            : { tex: text.slice(at, after), isDisplay: true, end: after };
    }
    return first === '$' ? dollars(text, at, known) : null;
}

/**
 * Finds `$x$`, but not `$5 and $6`: no space just inside the dollars, and no digit after them.
 * @param {string} text
 * @param {number} at
 * @param {Places} known
 */
function dollars(text, at, known) {
    if (/[\s$]/.test(text[at + 1] ?? ' ')) return null;
    const end = known.dollar(at + 1);
    if (text[end] !== '$' || end - at >= LONGEST) return null;
    return /\s/.test(text[end - 1] ?? '') || /\d/.test(text[end + 1] ?? '')
        ? null
        : { tex: text.slice(at + 1, end), isDisplay: false, end: end + 1 };
}

/** Whether a formula can be rendered: not too long, and not nested too deep. @param {string} tex */
export function canBeSet(tex) {
    if (tex.length > LONGEST) return false;
    let depth = 0;
    for (const [one, sign] of tex.matchAll(/\\(begin|end|left|right)\b|\\[^a-zA-Z]|[{}]/g)) {
        if (one === '{' || sign === 'begin' || sign === 'left') depth += 1;
        else if (one === '}' || sign === 'end' || sign === 'right') depth = Math.max(0, depth - 1);
        if (depth > DEEPEST) return false;
    }
    return true;
}

/** Text and formulas in turn. @param {string} text @returns {(string | Formula)[]} */
export function withFormulas(text) {
    /** @type {(string | Formula)[]} */
    const parts = [];
    let from = 0;
    for (let at = 0; at < text.length; ) {
        const found = formulaAt(text, at);
        if (found) {
            if (at > from) parts.push(text.slice(from, at));
            parts.push({ tex: found.tex, isDisplay: found.isDisplay });
            from = at = found.end;
        } else {
            at += 1;
        }
    }
    if (from < text.length) parts.push(text.slice(from));
    return parts;
}
