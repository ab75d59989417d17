// @ts-check
// What the editor has to know of Python beside its colours: what is a string or a comment, which
// bracket is open, and which lines are IPython's. The syntax tree of CodeMirror's parser says so.
// Pure.

import { pythonLanguage } from '../vendor/codemirror.js';

/** @typedef {ReturnType<typeof pythonLanguage.parser.parse>} Tree */
/** @typedef {Tree['topNode']} Node */
/**
 * @typedef {{from: number, argument: number, keyword: string | null}} Call `from`: the offset of
 *   its bracket; which argument the cursor is in, and by which name.
 */

/** The last text that was parsed: one key asks several questions about one text. */
let last = { text: '', tree: pythonLanguage.parser.parse('') };

/** @param {string} text @returns {Tree} */
function treeOf(text) {
    if (last.text !== text) last = { text, tree: pythonLanguage.parser.parse(text) };
    return last.tree;
}

/**
 * The nodes that a cursor stands in, innermost first. One that is not closed goes on behind its
 * end.
 * @param {string} text
 * @param {number} cursor
 * @returns {Node[]}
 */
function nodesAt(text, cursor) {
    const found = [];
    /** @type {Node | null} */
    let node = treeOf(text).resolveInner(cursor, -1);
    for (; node; node = node.parent)
        if (node.from < cursor && (cursor < node.to || !isClosed(text, node))) found.push(node);
    return found;
}

/** @param {string} text @param {Node} node */
function isClosed(text, node) {
    if (isString(node)) return closingQuote(text, node) !== null;
    return !isBracket(text, node) || CLOSING[text[node.from] ?? ''] === text[node.to - 1];
}

/** @param {Node} node */
const isString = ({ name }) => name === 'String' || name === 'FormatString';

/** @type {Record<string, string>} */
const CLOSING = { '(': ')', '[': ']', '{': '}' };

/** Whether a node is something in brackets, with them. @param {string} text @param {Node} node */
const isBracket = (text, node) =>
    node.name !== 'Script' && node.firstChild?.name === text[node.from] && (text[node.from] ?? '') in CLOSING;

/**
 * The quotes that close a string; null where there are none.
 * @param {string} text
 * @param {Node} node
 */
function closingQuote(text, { from, to }) {
    const whole = text.slice(from, to);
    const opening = /^[a-z]*("""|'''|"|')/i.exec(whole);
    const [start, quote] = [opening?.[0].length ?? 0, opening?.[1] ?? ''];
    const inside = whole.slice(start, -quote.length);
    const isEscaped = (/\\*$/.exec(inside)?.[0].length ?? 0) % 2 === 1;
    return quote && whole.length >= start + quote.length && whole.endsWith(quote) && !isEscaped
        ? quote
        : null;
}

/** @param {Node} node */
const isText = (node) => isString(node) || node.name === 'Comment';

/**
 * Whether a place stands in code, not in a string or comment.
 * @param {string} text
 * @param {number} cursor
 */
export function isInCode(text, cursor) {
    const node = treeOf(text).resolveInner(cursor, -1);
    return !isInComment(node, cursor) && !nodesAt(text, cursor).some(isText);
}

/** A comment has no end but that of its line. @param {Node} node @param {number} cursor */
const isInComment = ({ name, from }, cursor) => name === 'Comment' && from < cursor;

/**
 * The call whose parentheses the cursor stands in; null outside of any, and in strings and
 * comments.
 * @param {string} text
 * @param {number} cursor
 * @returns {Call | null}
 */
export function callAt(text, cursor) {
    const inner = nodesAt(text, cursor).find((node) => isBracket(text, node));
    if (inner?.name !== 'ArgList' || inner.parent?.name === 'ClassDefinition') return null;
    // `print (x)` is not told from a group; strings and comments have no calls.
    if (/\s/.test(text[inner.from - 1] ?? ' ') || !isInCode(text, cursor)) return null;
    const commas = inner.getChildren(',').filter(({ to }) => to <= cursor);
    const from = commas.at(-1)?.to ?? inner.from + 1;
    const keyword = text.slice(from, cursor).match(/^\s*(\w+)\s*=(?!=)/)?.[1] ?? null;
    return { from: inner.from, argument: commas.length, keyword };
}

/**
 * Lines that are IPython's own: magics, shell commands, questions; numbers from 0.
 * @param {string} text
 * @returns {number[]}
 */
export function magicLines(text) {
    const lines = text.split('\n');
    const first = lines.findIndex((line) => line.trim());
    if (lines[first]?.startsWith('%%')) return lines.map((_, i) => i).filter((i) => i >= first);
    let from = 0;
    return lines.flatMap((line, i) => {
        const at = from;
        from += line.length + 1;
        const isMagic = /^\s*(%%?\w|!|\?|\w[\w.]*\?{1,2}\s*$)/.test(line);
        return isMagic && !lines[i - 1]?.endsWith('\\') && isOutside(text, at) ? [i] : [];
    });
}

/**
 * Whether a place stands in no brackets and no string.
 * @param {string} text
 * @param {number} cursor
 */
const isOutside = (text, cursor) =>
    !nodesAt(text, cursor).some((node) => isString(node) || isBracket(text, node));

/**
 * Whether the statement that ends at a place leaves its block: what is written below it is indented
 * less.
 * @param {string} text
 * @param {number} cursor
 */
export function leavesBlock(text, cursor) {
    const from = text.lastIndexOf('\n', cursor - 1) + 1;
    if (!/^[ \t]+(return|pass|break|continue|raise)\b(?!.*\\$)/.test(text.slice(from, cursor))) return false;
    return isInCode(text, cursor) && isOutside(text, cursor) && isOutside(text, from);
}

/**
 * Whether the sign at a place is one of the three quotes that close a string.
 * @param {string} text
 * @param {number} cursor
 */
export function closesTriple(text, cursor) {
    /** @type {Node | null} */
    let node = treeOf(text).resolveInner(cursor, 1);
    while (node && !isString(node)) node = node.parent;
    return node !== null && closingQuote(text, node)?.length === 3 && node.to - 3 <= cursor;
}

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
