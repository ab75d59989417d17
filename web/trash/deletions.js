// @ts-check
// The actions that delete states and branches, and what each of them will delete.

import { countBelow, runsOn, subtreeOf } from '../notebook/state-deletion.js';
import { isInMemory } from '../checkpoints/residency.js';
import { MENU_WORDS } from '../cell/menu-words.js';
import { hasEnded } from '../shell/protocol.js';
import { TRASH_WORDS as WORDS } from './trash-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../notebook/page.js').Page} Page */

/** Less memory than this is not worth a word, in bytes. */
const LITTLE = 1 << 20;

/**
 * What the deletion of a state takes, in words. Cells that run on it go on.
 * @param {Page} page
 * @param {string} id
 */
export function deletionHint({ model, pendingDeletion }, id) {
    return WORDS.deleteHint({ ...costOf(model, [id]), staying: countBelow(model, id, pendingDeletion) });
}

/**
 * What the deletion of states with all below them takes, in words.
 * @param {Page} page
 * @param {string[]} firsts
 * @param {string[]} [attempts] further failed attempts
 */
function branchesHint({ model }, firsts, attempts = []) {
    const ids = [...new Set(firsts.flatMap((first) => subtreeOf(model, first)))];
    const cost = costOf(model, ids);
    const running = runsOn(model, ids).filter(({ status }) => !hasEnded(status)).length;
    return WORDS.deleteHint({ ...cost, failed: cost.failed + attempts.length, running });
}

/**
 * The numbers of states and failed attempts that a deletion takes, and the memory that only they
 * use.
 * @param {Model} model
 * @param {string[]} ids
 */
function costOf(model, ids) {
    const failed = runsOn(model, ids).filter(({ status }) => hasEnded(status)).length;
    const states = ids.flatMap((id) => model.states.get(id) ?? []);
    const bytes = states.reduce((sum, one) => sum + (isInMemory(one) ? (one.memory_bytes ?? 0) : 0), 0);
    const count = states.filter(({ living }) => living !== 'deleted').length;
    return { count, failed, bytes: bytes < LITTLE ? 0 : bytes };
}

/**
 * The menu entries that delete a state.
 * @param {import('../shell/protocol.js').State} state
 * @param {Page} page
 * @returns {import('../ui/menu.js').Action[]}
 */
export function deleteActions(state, page) {
    const { model, pendingDeletion } = page;
    if (state.parent === null || state.living === 'deleted' || pendingDeletion.has(state.id)) return [];
    const below = countBelow(model, state.id, pendingDeletion);
    return [
        {
            text: WORDS.deleteState,
            hint: deletionHint(page, state.id),
            act: () => page.deleteState({ state: state.id }),
            isBad: true,
        },
        below > 0 && {
            text: WORDS.deleteSubtree(below),
            hint: branchesHint(page, [state.id]),
            act: () => page.deleteState({ state: state.id, subtree: true }),
            isBad: true,
        },
    ];
}

/**
 * The branches beside that of a state, at the nearest fork at or above it: the first states of the
 * branches, and the failed attempts there. Rows of sweeps are no branches.
 * @param {Page} page
 * @param {string} id
 * @returns {{states: string[], attempts: string[]} | null} null if nothing branches off
 */
export function othersAtFork({ model, pendingDeletion }, id) {
    /** The first states of a branch that exist. @returns {string[]} @param {string} of */
    const firstsOf = (of) =>
        model.states.get(of)?.living === 'deleted' ? (model.children.get(of) ?? []).flatMap(firstsOf) : [of];
    const isHere = (/** @type {string} */ one) => !pendingDeletion.has(one);
    for (let state = model.states.get(id); state?.parent; state = model.states.get(state.parent)) {
        const { id: own, parent } = state;
        const others = model.childrenOf(parent).filter((one) => one.id !== own && !model.isRow(one));
        const states = others.flatMap((one) => firstsOf(one.id)).filter(isHere);
        if (states.length === 0) continue;
        const failed = [...model.runs.values()].filter(
            (run) => hasEnded(run.status) && !run.state && model.baseOf(run) === parent && !model.isRow(run),
        );
        return { states, attempts: failed.map(({ exec_id }) => exec_id).filter(isHere) };
    }
    return null;
}

/**
 * The menu entry that deletes the branches beside that of a state.
 * @param {Page} page
 * @param {string} id
 * @returns {import('../ui/menu.js').Action}
 */
export function keepAction(page, id) {
    const others = othersAtFork(page, id);
    if (!others) return null;
    return {
        text: WORDS.keepBranch(others.states.length + others.attempts.length),
        hint: branchesHint(page, others.states, others.attempts),
        words: MENU_WORDS.also.keep,
        act: () => void keepBranch(page, id),
        isBad: true,
    };
}

/**
 * Deletes the branches beside that of a state, with undo.
 * @param {Page} page
 * @param {string} id
 */
export function keepBranch(page, id) {
    const others = othersAtFork(page, id);
    if (!others) return page.notify(WORDS.noBranches, false);
    const count = others.states.length + others.attempts.length;
    return page.deletion.deleteBranches(others, { kept: id, said: WORDS.keptBranch(count) });
}
