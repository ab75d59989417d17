// @ts-check
// How the user has left the table of a sweep. This tab remembers it, so that the table can be
// closed and opened again. Pure.

import { memberAt, memberOf } from './sweeps.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/**
 * @typedef {object} TableView
 * @property {import('./sweep-rows.js').Order | null} order
 * @property {import('./sweep-rows.js').ColumnKey[]} hidden the columns that the user has hidden
 * @property {number} parameter the parameter of the plot, by its index
 * @property {number | null} cursor the row with the cursor, by its index
 */

const KEY = 'sweepViews';
/** The number of sweeps whose tables a tab remembers. The oldest are dropped. */
const KEPT = 50;
/** @type {TableView} */
const FIRST = Object.freeze({ order: null, hidden: [], parameter: 0, cursor: null });

/** @param {Page} page @returns {Map<string, TableView>} */
const kept = (page) => new Map(page.host.recall(KEY) ?? []);

/** The view of a sweep's table. @param {Page} page @param {string} id @returns {TableView} */
export const viewOf = (page, id) => ({ ...FIRST, ...kept(page).get(id) });

/** @param {Page} page @param {string} id @param {Partial<TableView>} change */
export function keepView(page, id, change) {
    const all = kept(page);
    const view = { ...FIRST, ...all.get(id), ...change };
    all.delete(id);
    page.host.remember(KEY, [...all.set(id, view)].slice(-KEPT));
}

/**
 * The row at which the page is; null if it is not at a row of this sweep.
 * @param {Page} page
 * @param {string} id
 */
export function ownRow({ model, attempt, here }, id) {
    const member = attempt === null ? memberAt(model, here) : memberOf(model.sweeps, attempt);
    return member?.sweep.id === id ? member.row : null;
}
