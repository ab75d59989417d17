// @ts-check
// The states that the user added to the table of branches, besides the ends of branches. This tab
// remembers them. Pure.

/** @typedef {import('../notebook/page.js').Page} Page */

const KEY = 'branchStates';

/** @param {Page} page @returns {string[]} the ids of the states that still exist */
export const pickedStates = (page) =>
    /** @type {string[]} */ (page.host.recall(KEY) ?? []).filter((id) => page.model.states.has(id));

/**
 * Adds a state to the table, or removes it.
 * @param {Page} page
 * @param {string} id
 * @returns {boolean} whether the table has it now
 */
export function togglePicked(page, id) {
    const before = pickedStates(page);
    const isThere = before.includes(id);
    page.host.remember(KEY, isThere ? before.filter((one) => one !== id) : [...before, id]);
    return !isThere;
}
