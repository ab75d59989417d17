// @ts-check
// The lists of actions on a graph node: for its menu and for its card.

import { residencyActions } from '../checkpoints/residency-actions.js';
import { beforeRunText } from '../checkpoints/residency.js';
import { withPart } from '../shell/lazy-parts.js';
import { WORDS } from '../shell/words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { BRANCHES_COMMAND_WORDS } from '../branches/branches-command-words.js';
import { showBranches } from '../compare/compare-commands.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { sweepActions } from '../sweep/sweep-commands.js';
import { deleteActions, deletionHint, keepAction } from '../trash/deletions.js';
import { List } from '../ui/menu.js';
import { html } from '../vendor/preact.js';
import {
    canGrow,
    compareWithHere,
    continueFrom,
    goTo,
    label,
    mayDelete,
    mayDeleteAttempt,
    remove,
    togglePin,
} from './node-actions.js';

/** @typedef {import('./nodes.js').Node} Node */
/** @typedef {import('./node-actions.js').ActionContext} ActionContext */

/**
 * The menu of a node.
 * @param {{context: ActionContext, node: Node, more: import('../ui/menu.js').Action, name: string,
 *   at: {x: number, y: number}, close: (takesFocus: boolean) => void}} props `more`: the last
 *   action; `name`: of the node
 */
export function NodeMenu({ context, node, more, name, at, close }) {
    const actions = [...actionsOf(context, node), more].filter(Boolean);
    // Guests can do nothing at the state that they see.
    if (actions.length === 0) actions.push({ text: GRAPH_WORDS.here, act: () => {} });
    return html`<${List} label=${GRAPH_WORDS.actions(name)} actions=${actions} at=${at} close=${close} />`;
}

/**
 * Takes variables of a state into a new child of the current state.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} id
 */
const takeFrom = (page, id) => withPart('take', page, (part) => part.takeVariables(page, page.here, id));

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
        ...(page.mayRun && page.scope === 'owner' && state ? [keepAction(page, state.id)] : []),
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
            hint: deletionHint(page, node.id),
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
                hint: beforeRunText(page.model, node.id) || GRAPH_WORDS.goOnHint,
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
    const { branchTable, comparison, model } = page;
    if (!node.state || !canGrow(node)) return [];
    const isPicked = branchTable.picked.includes(node.id);
    const pick = () => {
        if (!branchTable.toggle(node.id)) return;
        const act = { text: BRANCHES_COMMAND_WORDS.show, act: () => void showBranches(page) };
        page.notify(BRANCHES_COMMAND_WORDS.picked, false, { act });
    };
    return [
        comparison.isOpen &&
            !comparison.states.includes(node.id) && {
                text: COMPARE_COMMAND_WORDS.addWith,
                act: () => comparison.add(node.id),
            },
        node.from >= 0 &&
            (isPicked || model.childrenOf(node.id).length > 0) && {
                text: isPicked ? BRANCHES_COMMAND_WORDS.unpick : BRANCHES_COMMAND_WORDS.pick,
                act: pick,
            },
    ];
}
