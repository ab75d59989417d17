// @ts-check
// What the graph needs of other parts of the page: who else is here, what is being deleted, what is compared.

import { GRAPH_WORDS } from '../../words/graph.js';

/** @typedef {import('../../page.js').Page} Page */

/** @param {Page} page @returns {import('../../protocol.js').Person[]} */
export const othersOf = (page) => /** @type {any} */ (page).others?.() ?? page.model.people;

/** Who stands at which state. @param {Page} page @returns {Map<string, string[]>} */
export function standingOf(page) {
    const standing = new Map();
    for (const { state, name } of othersOf(page)) standing.set(state, [...(standing.get(state) ?? []), name ?? GRAPH_WORDS.somebody]);
    return standing;
}

/** States that will be deleted unless that is taken back. @param {Page} page @returns {Set<string>} */
export const goingOf = (page) => /** @type {any} */ (page).going ?? new Set();

/** Whether two states can be compared. @param {Page} page */
export const canCompare = (page) => typeof (/** @type {any} */ (page).compare) === 'function';

/** The two states that are compared now, if any. @param {Page} page @returns {string[]} */
export const comparedIn = (page) => Object.values(/** @type {any} */ (page).comparing?.pair ?? {});

/** @param {Page} page @param {string} a @param {string} b */
export const compare = (page, a, b) => /** @type {any} */ (page).compare(a, b);

/** Deletes states in a moment, with a way back. @param {Page} page @returns {((ids: string[], more?: {subtree: boolean}) => void) | null} */
export const deleter = (page) => (typeof (/** @type {any} */ (page).deleteStates) === 'function' ? (ids, more) => /** @type {any} */ (page).deleteStates(ids, more) : null);
