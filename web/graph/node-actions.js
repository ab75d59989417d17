// @ts-check
// The actions on a graph node. Going to a state only shows it; continuing also focuses the empty
// cell.

import { residencyActions } from '../checkpoints/residency-view.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { deleteActions } from '../presence/avatars.js';

/** @typedef {import('./nodes.js').Node} Node */
/**
 * @typedef {{page: import('../notebook/page.js').Page,
 *   controller: import('../cell/cell-controller.js').CellController}} Hands
 */

/** @param {Node} node */
const canGrow = ({ state }) => state !== null && state.living !== 'deleted';

/** Goes to a state, or shows an attempt. @param {Hands} hands @param {Node} node */
export const goTo = ({ page }, node) => page.goTo(node.id);

/**
 * Goes to a state and focuses the empty cell at its end.
 * @param {Hands} hands
 * @param {Node} node
 */
export function continueFrom({ page, controller }, node) {
    page.goTo(node.id);
    if (!page.mayRun || !canGrow(node)) return;
    page.host.paintNow();
    controller.focusFresh();
}

/**
 * Focuses the empty cell at the end, in command mode: the next Enter opens its editor.
 * @param {Hands} hands
 * @param {Node} node
 */
export function select({ page, controller }, node) {
    if (page.mayRun && canGrow(node)) controller.focusFresh(true);
}

/** Compares a state with the current one. @param {Hands} hands @param {Node} node */
export function compareWithHere({ page }, node) {
    if (node.state && node.id !== page.here) page.compare(page.here, node.id);
}

/** @param {Hands} hands @param {Node} node */
export function togglePin({ page }, { state }) {
    if (state && page.mayRun && state.living !== 'deleted' && state.living !== 'replay')
        page.checkpoints.pin(state.id, !state.pinned);
}

/** @param {Hands} hands @param {Node} node */
export function label({ page, controller }, { state }) {
    if (state && page.mayRun) controller.label(state);
}

/** Deletes a state or an attempt. @param {Hands} hands @param {Node} node */
export function remove({ page, controller }, node) {
    if (!page.mayRun) return;
    if (node.isFailedLeaf && node.run)
        controller.clipboard.forgetAttempt(node.run, () => controller.undoRemoval());
    else if (node.state && mayDelete({ page, controller }, node)) page.deleteState({ state: node.id });
}

/**
 * All actions, for the menu.
 * @param {Hands} hands
 * @param {Node} node
 * @returns {import('../ui/menu.js').Action[]}
 */
export function actionsOf(hands, node) {
    const { page } = hands;
    const { state } = node;
    return [
        ...mainActionsOf(hands, node),
        ...(page.mayRun && state !== null ? residencyActions(state, page) : []),
        page.mayRun &&
            node.isFailedLeaf && { text: GRAPH_WORDS.drop, act: () => remove(hands, node), isBad: true },
        ...(mayDelete(hands, node) && state ? deleteActions(state, page) : []),
    ];
}

/**
 * The actions on the card: the main ones, pin, and drop.
 * @param {Hands} hands
 * @param {Node} node
 * @returns {import('../ui/menu.js').Action[]}
 */
export function shortActionsOf(hands, node) {
    const { page } = hands;
    const { state } = node;
    const canPin = page.mayRun && state !== null && canGrow(node) && state.living !== 'replay';
    return [
        ...mainActionsOf(hands, node),
        canPin && {
            text: state.pinned ? GRAPH_WORDS.unpin : WORDS.pin,
            hint: WORDS.pinHint,
            act: () => togglePin(hands, node),
        },
        page.mayRun &&
            node.isFailedLeaf && { text: GRAPH_WORDS.drop, act: () => remove(hands, node), isBad: true },
        mayDelete(hands, node) && {
            text: GRAPH_WORDS.removeShort,
            act: () => remove(hands, node),
            isBad: true,
        },
    ];
}

/** @param {Hands} hands @param {Node} node @returns {import('../ui/menu.js').Action[]} */
function mainActionsOf(hands, node) {
    const { page } = hands;
    const { state } = node;
    return [
        node.id !== (page.attempt ?? page.here) && { text: GRAPH_WORDS.look, act: () => goTo(hands, node) },
        page.mayRun &&
            canGrow(node) && {
                text: GRAPH_WORDS.goOn,
                hint: GRAPH_WORDS.goOnHint,
                act: () => continueFrom(hands, node),
            },
        state !== null &&
            node.id !== page.here && { text: GRAPH_WORDS.compare, act: () => compareWithHere(hands, node) },
        page.mayRun && state !== null && { text: WORDS.label, act: () => label(hands, node) },
    ];
}

/** @param {Hands} hands @param {Node} node */
const mayDelete = ({ page }, node) =>
    page.mayRun &&
    page.scope === 'owner' &&
    canGrow(node) &&
    node.from >= 0 &&
    !page.pendingDeletion.has(node.id);
