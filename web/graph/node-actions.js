// @ts-check
// What can be done with a node of the graph. To look at a state and to go on from it are two things: nothing is lost by
// looking.

import { residencyActions } from '../checkpoints/residency-view.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { deleteActions } from '../presence/avatars.js';

/** @typedef {import('./nodes.js').Node} Node */
/** @typedef {{page: import('../notebook/page.js').Page, controller: import('../cell/cell-controller.js').CellController}} Hands */

/** @param {Node} node */
const canGrow = ({ state }) => state !== null && state.living !== 'deleted';

/** Stands on a state, or looks at an attempt. @param {Hands} hands @param {Node} node */
export const goTo = ({ page }, node) => page.goTo(node.id);

/** Stands on a state and leads to the place to type. @param {Hands} hands @param {Node} node */
export function continueFrom({ page, controller }, node) {
    page.goTo(node.id);
    if (!page.mayRun || !canGrow(node)) return;
    page.host.now();
    controller.focusFresh();
}

/** Leads to the place to type of where one stands, as a cell: the next Enter goes into it. @param {Hands} hands @param {Node} node */
export function select({ page, controller }, node) {
    if (page.mayRun && canGrow(node)) controller.focusFresh(true);
}

/** Compares a state with the one we stand on. @param {Hands} hands @param {Node} node */
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

/** Deletes a state, or forgets an attempt. @param {Hands} hands @param {Node} node */
export function remove({ page, controller }, node) {
    if (!page.mayRun) return;
    if (node.bud && node.run) controller.clipboard.forgetAttempt(node.run, () => controller.undoRemoval());
    else if (node.state && mayDelete({ page, controller }, node)) page.deleteState({ state: node.id });
}

/** The same as a list. @param {Hands} hands @param {Node} node @returns {import('../ui/menu.js').Action[]} */
export function actionsOf(hands, node) {
    const { page } = hands;
    const { state } = node;
    return [
        ...mainActionsOf(hands, node),
        ...(page.mayRun && state !== null ? residencyActions(state, page) : []),
        page.mayRun && node.bud && { text: GRAPH_WORDS.drop, act: () => remove(hands, node), isBad: true },
        ...(mayDelete(hands, node) && state ? deleteActions(state, page) : []),
    ];
}

/** What the card offers: as much as can be taken in at once. @param {Hands} hands @param {Node} node @returns {import('../ui/menu.js').Action[]} */
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
        page.mayRun && node.bud && { text: GRAPH_WORDS.drop, act: () => remove(hands, node), isBad: true },
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
