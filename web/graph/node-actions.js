// @ts-check
// The actions on a graph node. Going to a state shows the state. Continuing from a state also
// focuses the empty cell at the end, and scrolls to it.

import { withPart } from '../shell/lazy-parts.js';

/** @typedef {import('./nodes.js').Node} Node */
/**
 * @typedef {{page: import('../notebook/page.js').Page,
 *   controller: import('../cell/cell-controller.js').CellController}} ActionContext
 */

/** @param {Node} node */
export const canGrow = ({ state }) => state !== null && state.living !== 'deleted';

/**
 * Goes to a state, from which the next cell then branches, or shows an attempt.
 * @param {ActionContext} context
 * @param {Node} node
 */
export function goTo({ page, controller }, node) {
    if (node.state) page.branchFrom(node.id);
    else page.goTo(node.id);
    controller.panes?.wentInGraph();
}

/**
 * Goes to a state and focuses the empty cell at the end.
 * @param {ActionContext} context
 * @param {Node} node
 * @param {boolean} [isClick] whether the state was clicked: a user who then types wants to write
 *   code, but the page stays at the cell of the state
 */
export function continueFrom({ page, controller }, node, isClick = false) {
    goTo({ page, controller }, node);
    if (!page.mayRun || !canGrow(node)) return;
    page.host.paintNow();
    if (isClick) controller.focus.freshInPlace();
    else controller.focus.fresh();
}

/**
 * Focuses the empty cell at the end in command mode. The next Enter then focuses its editor.
 * @param {ActionContext} context
 * @param {Node} node
 */
export function select({ page, controller }, node) {
    if (page.mayRun && canGrow(node)) controller.focus.fresh(true);
}

/** Compares a state with the current state. @param {ActionContext} context @param {Node} node */
export function compareWithHere({ page }, node) {
    if (node.state && node.id !== page.here) page.compare(page.here, node.id);
}

/** @param {ActionContext} context @param {Node} node */
export function togglePin({ page }, { state }) {
    if (state && page.mayRun && state.living !== 'deleted' && state.living !== 'replay')
        page.checkpoints.pin(state.id, !state.pinned);
}

/** @param {ActionContext} context @param {Node} node */
export function label({ page, controller }, { state }) {
    if (state && page.mayRun) controller.label(state);
}

/** Deletes a state or an attempt. @param {ActionContext} context @param {Node} node */
export function remove({ page, controller }, node) {
    if (mayDeleteAttempt({ page, controller }, node) && node.run) controller.edits.forgetAttempt(node.run);
    else if (node.state && mayDelete({ page, controller }, node)) page.deleteState({ state: node.id });
}

/**
 * Deletes the branches beside that of a state, with undo.
 * @param {ActionContext} context
 * @param {Node} node
 */
export function keepBranch({ page }, { state }) {
    if (state && page.mayRun && page.scope === 'owner')
        void withPart('deletions', page, (part) => part.keepBranch(page, state.id));
}

/**
 * Whether a node is a failed attempt that the user may delete.
 * @param {ActionContext} context
 * @param {Node} node
 */
export const mayDeleteAttempt = ({ page }, node) =>
    page.mayRun && page.scope === 'owner' && node.isFailedLeaf;

/**
 * Whether a node is a state that the user may delete.
 * @param {ActionContext} context
 * @param {Node} node
 */
export const mayDelete = ({ page }, node) =>
    page.mayRun &&
    page.scope === 'owner' &&
    canGrow(node) &&
    node.from >= 0 &&
    !page.pendingDeletion.has(node.id);
