// @ts-check
// The text of the tables in an HTML output, as Find searches it: the cells of a row with tabs
// between them, and a line for each row. Pure.

/**
 * @typedef {{text: string, starts: number[], heads: number}} TableText `starts`: the offset at
 *   which each cell begins; `heads`: the number of lines with column names
 */
/**
 * @typedef {{cell: number, from: number, to: number, text: string}} Piece A part of a match that is
 *   in one cell. `from` and `to`: offsets in the cell's text.
 */

const NAMED = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\xa0', hellip: '…' };

/**
 * Tables of libraries are plain enough for this. The frame marks only what it finds in its cells.
 * @param {string} html
 * @returns {TableText}
 */
export function tableText(html) {
    let text = '';
    /** @type {number[]} */
    const starts = [];
    let isFirst = true;
    for (const [, , inner] of html.matchAll(/<tr\b|<t([dh])\b[^>]*>([\s\S]*?)<\/t\1>/gi)) {
        if (inner === undefined) {
            if (text) text += '\n';
            isFirst = true;
            continue;
        }
        if (!isFirst) text += '\t';
        isFirst = false;
        starts.push(text.length);
        text += plain(inner);
    }
    const heads = html.slice(0, Math.max(0, html.search(/<\/thead>/i))).match(/<tr\b/gi)?.length ?? 0;
    return { text, starts, heads };
}

/** @param {string} html */
const plain = (html) =>
    html.replace(/<[^>]*>/g, '').replace(/&(?:#(\d+)|#x([\da-f]+)|(\w+));/gi, (all, tens, hex, name) => {
        if (name) return NAMED[/** @type {keyof typeof NAMED} */ (name)] ?? all;
        const code = tens ? Number(tens) : Number.parseInt(hex, 16);
        return code <= 0x10ffff ? String.fromCodePoint(code) : all;
    });

/**
 * The parts of a match in the cells of a table.
 * @param {TableText} table
 * @param {import('./matches.js').Span} span
 * @returns {Piece[]}
 */
export function piecesOf({ text, starts }, { from, to }) {
    /** @type {Piece[]} */
    const pieces = [];
    let [low, high] = [0, starts.length];
    while (low < high) {
        const middle = (low + high) >> 1;
        if ((starts[middle] ?? 0) <= from) low = middle + 1;
        else high = middle;
    }
    for (let cell = Math.max(0, low - 1); cell < starts.length; cell += 1) {
        const begin = starts[cell] ?? 0;
        if (begin >= to) break;
        // Before the next cell there is a tab or a line end.
        const end = (starts[cell + 1] ?? text.length + 1) - 1;
        const [first, last] = [Math.max(from, begin), Math.min(to, end)];
        if (first < last)
            pieces.push({ cell, from: first - begin, to: last - begin, text: text.slice(first, last) });
    }
    return pieces;
}

/**
 * The row of a data frame at an offset of its table, which may show only the first and last rows.
 * @param {TableText} table
 * @param {number} from
 * @param {number} total the number of rows of the data frame
 * @returns {number | null} null if that is not certain
 */
export function rowOf({ text, heads }, from, total) {
    const lines = text.split('\n').slice(heads);
    const row = text.slice(0, from).split('\n').length - 1 - heads;
    if (row < 0) return null;
    if (lines.length === total) return row;
    const gap = lines.findIndex((line) => /^[.…\t]+$/.test(line));
    if (gap < 0 || row === gap) return null;
    return row < gap ? row : total - lines.length + row;
}
