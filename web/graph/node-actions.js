// @ts-check
// The actions on a graph node. Going to a state shows the state. Continuing from a state also
// focuses the empty cell at the end, and scrolls to it.

import { residencyActions } from '../checkpoints/residency-view.js';
import { withPart } from '../shell/lazy-parts.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { BRANCHES_WORDS } from '../branches/branches-words.js';
import { pickedStates, togglePicked } from '../branches/picked-states.js';
import { showBranches } from '../compare/compare-commands.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { sweepActions } from '../sweep/sweep-commands.js';
import { deleteActions } from '../presence/avatars.js';

/** @typedef {import('./nodes.js').Node} Node */
/**
 * @typedef {{page: import('../notebook/page.js').Page,
 *   controller: import('../cell/cell-controller.js').CellController}} ActionContext
 */

/** @param {Node} node */
const canGrow = ({ state }) => state !== null && state.living !== 'deleted';

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

/**
 * Takes variables of a state into a new child of the current state.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} id
 */
const takeFrom = (page, id) => withPart('take', page, (part) => part.takeVariables(page, page.here, id));

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
 * All actions on a node, for the node's menu.
 * @param {ActionContext} context
 * @param {Node} node
 * @returns {import('../ui/menu.js').Action[]}
 */
export function actionsOf(context, node) {
    const { page } = context;
    const { state } = node;
    if (node.sweep) return sweepActions(page, node.sweep);
    return [
        ...mainActionsOf(context, node),
        ...manyActionsOf(page, node),
        ...(page.mayRun && state !== null ? residencyActions(state, page) : []),
        mayDeleteAttempt(context, node) && {
            text: GRAPH_WORDS.drop,
            act: () => remove(context, node),
            isBad: true,
        },
        ...(mayDelete(context, node) && state ? deleteActions(state, page) : []),
    ];
}

/**
 * The actions on a node's card: the main actions, pin and delete.
 * @param {ActionContext} context
 * @param {Node} node
 * @returns {import('../ui/menu.js').Action[]}
 */
export function shortActionsOf(context, node) {
    const { page } = context;
    const { state } = node;
    if (node.sweep) return sweepActions(page, node.sweep);
    const canPin = page.mayRun && state !== null && canGrow(node) && state.living !== 'replay';
    return [
        ...mainActionsOf(context, node),
        canPin && {
            text: state.pinned ? GRAPH_WORDS.unpin : WORDS.pin,
            hint: state.pinned ? undefined : WORDS.pinHint,
            act: () => togglePin(context, node),
        },
        mayDeleteAttempt(context, node) && {
            text: GRAPH_WORDS.drop,
            act: () => remove(context, node),
            isBad: true,
        },
        mayDelete(context, node) && {
            text: GRAPH_WORDS.removeShort,
            act: () => remove(context, node),
            isBad: true,
        },
    ];
}

/** @param {ActionContext} context @param {Node} node @returns {import('../ui/menu.js').Action[]} */
function mainActionsOf(context, node) {
    const { page } = context;
    const { state } = node;
    return [
        node.id !== (page.attempt ?? page.here) && { text: GRAPH_WORDS.look, act: () => goTo(context, node) },
        page.mayRun &&
            canGrow(node) && {
                text: GRAPH_WORDS.goOn,
                hint: GRAPH_WORDS.goOnHint,
                act: () => continueFrom(context, node),
            },
        state !== null &&
            node.id !== page.here && { text: GRAPH_WORDS.compare, act: () => compareWithHere(context, node) },
        page.mayRun &&
            canGrow(node) &&
            node.id !== page.here && {
                text: GRAPH_WORDS.take,
                hint: GRAPH_WORDS.takeHint,
                act: () => takeFrom(page, node.id),
            },
        page.mayRun && state !== null && { text: WORDS.label, act: () => label(context, node) },
    ];
}

/**
 * The actions that collect several states: for the open comparison, and for the table of branches,
 * which has the ends of all branches anyway.
 * @param {import('../notebook/page.js').Page} page
 * @param {Node} node
 * @returns {import('../ui/menu.js').Action[]}
 */
function manyActionsOf(page, node) {
    const { comparison, model } = page;
    if (!node.state || !canGrow(node)) return [];
    const isPicked = pickedStates(page).includes(node.id);
    const pick = () => {
        if (!togglePicked(page, node.id)) return;
        const act = { text: BRANCHES_WORDS.show, act: () => void showBranches(page) };
        page.notify(BRANCHES_WORDS.picked, false, { act });
    };
    return [
        comparison.isOpen &&
            !comparison.states.includes(node.id) && {
                text: COMPARE_COMMAND_WORDS.addWith,
                act: () => comparison.add(node.id),
            },
        node.from >= 0 &&
            (isPicked || model.childrenOf(node.id).length > 0) && {
                text: isPicked ? BRANCHES_WORDS.unpick : BRANCHES_WORDS.pick,
                act: pick,
            },
    ];
}

/**
 * Whether a node is a failed attempt that the user may delete.
 * @param {ActionContext} context
 * @param {Node} node
 */
const mayDeleteAttempt = ({ page }, node) => page.mayRun && page.scope === 'owner' && node.isFailedLeaf;

/**
 * Whether a node is a state that the user may delete.
 * @param {ActionContext} context
 * @param {Node} node
 */
const mayDelete = ({ page }, node) =>
    page.mayRun &&
    page.scope === 'owner' &&
    canGrow(node) &&
    node.from >= 0 &&
    !page.pendingDeletion.has(node.id);
