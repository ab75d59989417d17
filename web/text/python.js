// @ts-check
// As much of Python's grammar as the editor has to know by itself: what is a string or a comment,
// which bracket is open, and which lines are IPython's and not Python's. Pure.

/**
 * @typedef {{from: number, argument: number, keyword: string | null}} Call `from`: of its bracket;
 *   which argument the cursor is in, and by which name.
 */

/** A string's or comment's whole text, or a single character. */
const PIECES = /[rbfut]{0,2}("""|'''|"|')|#[^\n]*|[()[\]{},\n]|\\\n/giy;

/**
 * Walks through what is code: brackets, commas, line ends.
 * @param {string} text
 * @param {number} end
 * @param {(piece: string, at: number) => void} see
 * @param {(quote: string, end: number) => void} [seeString] strings that are closed: how, and where
 *   they end
 * @returns {boolean} whether the end lies in code, not in a string or comment
 */
function walk(text, end, see, seeString) {
    let at = 0;
    while (at < end) {
        PIECES.lastIndex = at;
        const isInWord = at > 0 && /[\w]/.test(text[at - 1]) && /\w/.test(text[at]);
        const found = isInWord ? null : PIECES.exec(text);
        if (!found) {
            at += 1;
            continue;
        }
        const [piece, quote] = found;
        const isText = quote !== undefined || piece.startsWith('#');
        const next = quote ? endOfString(text, at + piece.length, quote) : at + piece.length;
        if (quote && isClosed(text, next, quote, at + piece.length)) seeString?.(quote, next);
        if (
            isText &&
            (next > end || (next === end && (!quote || !isClosed(text, next, quote, at + piece.length))))
        )
            return false;
        if (!isText) see(piece, at);
        at = next;
    }
    return true;
}

/**
 * @param {string} text
 * @param {number} from
 * @param {string} quote
 * @returns {number} behind its closing quote, or where it is given up
 */
function endOfString(text, from, quote) {
    for (let at = from; at < text.length; at += 1) {
        if (text[at] === '\\') at += 1;
        else if (text.startsWith(quote, at)) return at + quote.length;
        else if (text[at] === '\n' && quote.length === 1) return at;
    }
    return text.length;
}

/** @param {string} text @param {number} end @param {string} quote @param {number} from */
const isClosed = (text, end, quote, from) =>
    end - quote.length >= from && text.startsWith(quote, end - quote.length);

/**
 * The call whose parentheses the cursor stands in; null outside of any, and in strings and
 * comments.
 * @param {string} text
 * @param {number} cursor
 * @returns {Call | null}
 */
export function callAt(text, cursor) {
    /** @type {{bracket: string, from: number, commas: number, last: number}[]} */
    const open = [];
    const isCode = walk(text, cursor, (piece, at) => {
        if ('([{'.includes(piece)) open.push({ bracket: piece, from: at, commas: 0, last: at + 1 });
        else if (')]}'.includes(piece)) open.pop();
        else if (piece === ',' && open.length)
            Object.assign(open[open.length - 1], { commas: open[open.length - 1].commas + 1, last: at + 1 });
    });
    const inner = open.at(-1);
    if (!isCode || inner?.bracket !== '(' || !isCalled(text.slice(0, inner.from))) return null;
    const keyword = text.slice(inner.last, cursor).match(/^\s*(\w+)\s*=(?!=)/)?.[1] ?? null;
    return { from: inner.from, argument: inner.commas, keyword };
}

/**
 * Whether a parenthesis behind this text is that of a call, not of a definition or of a mere group.
 * @param {string} before
 */
function isCalled(before) {
    const found = before.match(/(?:\b(def|class)\s+)?([\p{L}\p{N}_]+|[\])])$/u);
    return found !== null && !found[1] && !KEYWORDS.has(found[2]);
}

const KEYWORDS = new Set(
    'and as assert await del elif else except finally for from if import in is lambda not or raise return while with yield'.split(
        ' ',
    ),
);

/**
 * Lines that are IPython's own: magics, shell commands, questions; numbers from 0.
 * @param {string} text
 * @returns {number[]}
 */
export function magicLines(text) {
    const lines = text.split('\n');
    const first = lines.findIndex((line) => line.trim());
    if (lines[first]?.startsWith('%%')) return lines.map((_, i) => i).filter((i) => i >= first);
    const starts = statementStarts(text);
    return lines.flatMap((line, i) =>
        starts.has(i) && /^\s*(%%?\w|!|\?|\w[\w.]*\?{1,2}\s*$)/.test(line) ? [i] : [],
    );
}

/** @param {string} text @returns {Set<number>} the lines at which a statement may begin */
function statementStarts(text) {
    const starts = new Set([0]);
    let [depth, seen, line] = [0, 0, 0];
    walk(text, text.length, (piece, at) => {
        for (; seen <= at; seen += 1) if (text[seen] === '\n') line += 1;
        if ('([{'.includes(piece)) depth += 1;
        else if (')]}'.includes(piece)) depth = Math.max(0, depth - 1);
        else if (piece === '\n' && depth === 0) starts.add(line);
    });
    return starts;
}

/**
 * Whether the statement that ends at a place leaves its block: what is written below it is indented
 * less.
 * @param {string} text
 * @param {number} cursor
 */
export function leavesBlock(text, cursor) {
    const from = text.lastIndexOf('\n', cursor - 1) + 1;
    if (!/^[ \t]+(return|pass|break|continue|raise)\b(?!.*\\$)/.test(text.slice(from, cursor))) return false;
    let depth = 0;
    const isCode = walk(
        text,
        cursor,
        (piece) => (depth += '([{'.includes(piece) ? 1 : ')]}'.includes(piece) ? -1 : 0),
    );
    return isCode && depth === 0 && isInCode(text, from);
}

/**
 * Whether the sign at a place is one of the three quotes that close a string.
 * @param {string} text
 * @param {number} cursor
 */
export function closesTriple(text, cursor) {
    const sign = text[cursor];
    if (sign !== '"' && sign !== "'") return false;
    let is = false;
    walk(
        text,
        text.length,
        () => {},
        (quote, end) => (is ||= quote === sign.repeat(3) && end - 3 <= cursor && cursor < end),
    );
    return is;
}

/**
 * Whether a place stands in code, not in a string or comment.
 * @param {string} text
 * @param {number} cursor
 */
export const isInCode = (text, cursor) => walk(text, cursor, () => {});

/**
 * Whether the place stands in the blank beginning of its line.
 * @param {string} line up to the cursor
 */
export const isBlank = (line) => /^\s*$/.test(line);

/**
 * Whether it is worth asking for completions while this is being typed: behind a dot, and from two
 * letters on.
 * @param {string} line up to the cursor
 */
export const asksByItself = (line) =>
    /(?:[\p{L}_][\p{L}\p{N}_]*|[\])"'])\.[\p{L}\p{N}_]*$/u.test(line) ||
    /(?:^|[^\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]+$/u.test(line);
