// @ts-check
// The widths of a grid's columns, which columns are in view, and the order of rows. Pure.

import { TABLE_WORDS } from './table-words.js';

/** @typedef {import('../shell/protocol-types').TableColumn} Column */
/** @typedef {import('../shell/protocol-types').TableSort} Sort */
/** @typedef {import('../shell/protocol-types').Condition} Condition */
/** @typedef {import('../shell/protocol-types').ColumnKind} Kind */

/** The least width that a user can set, and the limits of the initial width, in px. */
export const LEAST = 40;
const INITIAL = { least: 76, most: 320 };
/** The average width of a character, and the room beside a text, in px. */
const CHARACTER = 7.3;
const PADDING = 20;
/** The average width of a bold character, and the room of the sort arrow and the filter, in px. */
const BOLD = 8;
const HEAD = 56;
/** The average width of a small character. */
const SMALL = 6.4;
/** Index columns stay at the left edge if they leave at least this share of the width. */
const FREE = 0.6;

/**
 * The initial width of each column, from its name, its type, its range and the texts of the first
 * rows.
 * @param {Column[]} columns
 * @param {import('./loaded-rows.js').Row[]} rows
 * @param {import('../shell/protocol-types').TableSummaries | null} [summaries]
 * @returns {number[]}
 */
export const initialWidths = (columns, rows, summaries) =>
    columns.map((column, at) => {
        const summary = summaries?.columns[at];
        const range = summary && 'bars' in summary ? (summary.low + summary.high).length * SMALL + 32 : 0;
        const wanted = Math.round(Math.max(range, fittingWidth(column, at, rows)));
        return Math.min(INITIAL.most, Math.max(INITIAL.least, wanted));
    });

/**
 * The width at which no text of a column is cut.
 * @param {Column} column
 * @param {number} at
 * @param {import('./loaded-rows.js').Row[]} rows
 */
export function fittingWidth(column, at, rows) {
    const { dtype } = column;
    const longest = rows.reduce((most, row) => Math.max(most, row[at]?.length ?? 0), 0);
    const head = shownName(column).length * BOLD + HEAD;
    return Math.round(Math.max(head, Math.max(longest, dtype.length) * CHARACTER + PADDING));
}

/**
 * The number of index columns that stay at the left edge.
 * @param {Column[]} columns
 * @param {number[]} widths
 * @param {number} width of the grid
 */
export function pinnedCount(columns, widths, width) {
    const count = columns.findIndex((column) => !column.is_index);
    const pinned = widths.slice(0, Math.max(0, count)).reduce((sum, one) => sum + one, 0);
    return pinned <= width * (1 - FREE) ? Math.max(0, count) : 0;
}

/**
 * The columns in view, without the pinned ones: [first, end).
 * @param {number[]} widths
 * @param {number} pinned
 * @param {number} left the scrolled distance
 * @param {number} width of the grid
 * @returns {{first: number, end: number, before: number}} `before`: the width of the columns
 *   between the pinned columns and `first`
 */
export function columnsInView(widths, pinned, left, width) {
    let x = widths.slice(0, pinned).reduce((sum, one) => sum + one, 0);
    const edge = x;
    let first = pinned;
    while (first < widths.length - 1 && x + (widths[first] ?? 0) <= left + edge) x += widths[first++] ?? 0;
    const before = x - edge;
    let end = first;
    while (end < widths.length && x < left + width) x += widths[end++] ?? 0;
    return { first, end, before };
}

/**
 * The next order after a click on a header: ascending, descending, then the order of the data.
 * @param {Sort | null} sort
 * @param {number} column
 * @returns {Sort | null}
 */
export function nextSort(sort, column) {
    if (sort?.column !== column) return { column, descending: false };
    return sort.descending ? null : { column, descending: true };
}

/** The name of a column as the headers show it. @param {Column} column */
export const shownName = ({ name, is_index }) => name || (is_index ? TABLE_WORDS.index : '');

/** Whether a condition compares with a value. @param {Condition} is */
export const needsValue = (is) => is !== 'missing' && is !== 'present';

/**
 * The conditions that suit a kind of column, the most useful first.
 * @param {Kind} kind
 * @returns {Condition[]}
 */
export function conditionsFor(kind) {
    /** @type {Condition[]} */
    const ordered = ['at_least', 'at_most', 'greater', 'less'];
    if (kind === 'number' || kind === 'time')
        return [...ordered, 'equal', 'unequal', 'contains', 'missing', 'present'];
    if (kind === 'bool') return ['equal', 'unequal', 'missing', 'present'];
    return ['contains', 'equal', 'unequal', ...ordered, 'missing', 'present'];
}

/** The name of a file for an expression: letters, digits, `-` and `_`. @param {string} text */
export const fileNameOf = (text) =>
    text
        .replaceAll(/[^\p{L}\p{N}_-]+/gu, '-')
        .replaceAll(/^-+|-+$/g, '')
        .slice(0, 60) || 'table';

/**
 * The text of a single copied cell, without the quotes of TSV.
 * @param {string} tsv
 */
export function unquoted(tsv) {
    const text = tsv.replace(/\n$/, '');
    return text.startsWith('"') && text.endsWith('"') && text.length > 1
        ? text.slice(1, -1).replaceAll('""', '"')
        : text;
}
