// @ts-check
// Answers the editor's questions about Python code from CodeMirror's syntax tree: strings and
// comments, open brackets, IPython's own lines. Pure.

import { pythonLanguage } from '../vendor/codemirror.js';

/** @typedef {ReturnType<typeof pythonLanguage.parser.parse>} Tree */
/** @typedef {Tree['topNode']} Node */
/**
 * @typedef {{from: number, argument: number, keyword: string | null}} Call `from`: the offset of
 *   the opening parenthesis; `argument`: the index of the argument at the cursor; `keyword`: the
 *   argument's name, if written.
 */

/** The last parsed text, because one key press asks several questions about the same text. */
let last = { text: '', tree: pythonLanguage.parser.parse('') };

/** Whether the info string of a Markdown code block names Python. @param {string} info */
export const isPython = (info) => /^(i?python3?|py)\b/i.test(info.trim());

/** @param {string} text @returns {Tree} */
function treeOf(text) {
    if (last.text !== text) last = { text, tree: pythonLanguage.parser.parse(text) };
    return last.tree;
}

/**
 * The nodes that contain the cursor, innermost first. An unclosed node also contains positions
 * after its end.
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

/** Whether a node is a bracketed expression. @param {string} text @param {Node} node */
const isBracket = (text, node) =>
    node.name !== 'Script' && node.firstChild?.name === text[node.from] && (text[node.from] ?? '') in CLOSING;

/**
 * The closing quotes of a string; null if it is unclosed.
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
 * Whether an offset is in code, not in a string or comment.
 * @param {string} text
 * @param {number} cursor
 */
export function isInCode(text, cursor) {
    const node = treeOf(text).resolveInner(cursor, -1);
    return !isInComment(node, cursor) && !nodesAt(text, cursor).some(isText);
}

/** A comment extends to the end of its line. @param {Node} node @param {number} cursor */
const isInComment = ({ name, from }, cursor) => name === 'Comment' && from < cursor;

/**
 * The call whose parentheses contain the cursor; null outside of calls, and in strings and
 * comments.
 * @param {string} text
 * @param {number} cursor
 * @returns {Call | null}
 */
export function callAt(text, cursor) {
    const inner = nodesAt(text, cursor).find((node) => isBracket(text, node));
    if (inner?.name !== 'ArgList' || inner.parent?.name === 'ClassDefinition') return null;
    // Parentheses after a space, as in `print (x)`, count as a group. Strings and comments contain
    // no calls.
    if (/\s/.test(text[inner.from - 1] ?? ' ') || !isInCode(text, cursor)) return null;
    const commas = inner.getChildren(',').filter(({ to }) => to <= cursor);
    const from = commas.at(-1)?.to ?? inner.from + 1;
    const keyword = text.slice(from, cursor).match(/^\s*(\w+)\s*=(?!=)/)?.[1] ?? null;
    return { from: inner.from, argument: commas.length, keyword };
}

/**
 * The numbers, from 0, of IPython's own lines: magics, shell commands and `?` help.
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
 * Whether an offset is outside of brackets and strings.
 * @param {string} text
 * @param {number} cursor
 */
const isOutside = (text, cursor) =>
    !nodesAt(text, cursor).some((node) => isString(node) || isBracket(text, node));

/**
 * Whether the statement that ends at an offset leaves its block, so that the next line is indented
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
 * Whether the character at an offset is one of the three quotes that close a string.
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
 * Whether the cursor is in the leading whitespace of its line.
 * @param {string} line up to the cursor
 */
export const isBlank = (line) => /^\s*$/.test(line);

/**
 * Whether typing requests completions here: after a dot, or after at least two letters of a name.
 * @param {string} line up to the cursor
 */
export const asksByItself = (line) =>
    /(?:[\p{L}_][\p{L}\p{N}_]*|[\])"'])\.[\p{L}\p{N}_]*$/u.test(line) ||
    /(?:^|[^\p{L}\p{N}_])[\p{L}_][\p{L}\p{N}_]+$/u.test(line);
