// @ts-check
// The line of code by which people know a cell. All cells of a notebook are named before the first
// paint, so this reads the text, not a syntax tree. Pure.

import { firstLine } from '../text/format.js';

/** @typedef {'assignment' | 'expression' | 'block' | 'print' | 'import'} Kind */

/** What matters for where a statement ends, and for whether it assigns. */
const TOKEN = /\\\n|'''|"""|'(?:\\.|[^'\\\n])*'?|"(?:\\.|[^"\\\n])*"?|#.*|[=!<>]=|:=|[([{]|[)\]}]|=|\n/g;

const BLOCK = /^(async\s|(def|class|for|while|if|elif|else|with|try|except|finally)\b|(match|case)\b.*:\s*$)/;

/**
 * The last assignment of a cell, else its last expression, else its first block, else what it
 * prints last. A comment or a cell magic at the top was written as a name, and is one.
 * @param {string} code
 */
export function codeName(code) {
    const first = firstLine(code);
    if (/^(#|%%)/.test(first)) return first;
    const all = statementsOf(code);
    const last = (/** @type {Kind} */ wanted) => all.findLast(({ kind }) => kind === wanted);
    const found =
        last('assignment') ?? last('expression') ?? all.find(({ kind }) => kind === 'block') ?? last('print');
    return found ? firstLine(found.text) : first;
}

/**
 * The statements that are not inside of another one, each with the text from its first line on.
 * @param {string} code
 * @returns {{kind: Kind, text: string}[]}
 */
function statementsOf(code) {
    /** @type {{kind: Kind, text: string}[]} */
    const found = [];
    for (let at = 0; at < code.length; ) {
        const { end, assigns } = statement(code, at);
        const text = code.slice(at, end);
        at = end + 1;
        if (!/^[^\s#]/.test(text) || /^[%!?@]/.test(text)) continue;
        found.push({ kind: assigns && !BLOCK.test(text) ? 'assignment' : kindOf(text), text });
    }
    return found;
}

/** The kind of a statement without an assignment. @param {string} text @returns {Kind} */
function kindOf(text) {
    if (BLOCK.test(text)) return 'block';
    if (/^(import|from)\s/.test(text)) return 'import';
    return /^print\(/.test(text) ? 'print' : 'expression';
}

/**
 * Where a statement ends: at the end of a line, outside of brackets and strings.
 * @param {string} code
 * @param {number} from the beginning of a line
 * @returns {{end: number, assigns: boolean}} `assigns`: whether it has a `=` outside of brackets
 */
function statement(code, from) {
    TOKEN.lastIndex = from;
    let depth = 0;
    let assigns = false;
    for (let found = TOKEN.exec(code); found; found = TOKEN.exec(code)) {
        const [sign] = found;
        if (sign === '\n' && depth === 0) return { end: found.index, assigns };
        if (sign === "'''" || sign === '"""') {
            const close = code.indexOf(sign, TOKEN.lastIndex);
            TOKEN.lastIndex = close < 0 ? code.length : close + 3;
        } else if ('([{'.includes(sign)) depth += 1;
        else if (')]}'.includes(sign)) depth = Math.max(0, depth - 1);
        else if (sign === '=' && depth === 0) assigns = true;
    }
    return { end: code.length, assigns };
}
