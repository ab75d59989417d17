// @ts-check
// The menu entries for the residency of a state.

import { WORDS } from '../shell/words.js';
import { cellsToReplay, isInMemory } from './residency.js';

/**
 * @param {import('../shell/protocol.js').State} state
 * @param {import('../notebook/page.js').Page} page
 * @returns {import('../ui/menu.js').Action[]}
 */
export function residencyActions(state, { checkpoints, model }) {
    if (state.living === 'deleted') return [];
    const canReplay =
        state.living !== 'disk' &&
        !checkpoints.progressOf(state.id) &&
        cellsToReplay(model, state.id).length > 0;
    return [
        state.living !== 'replay' && {
            text: state.pinned ? WORDS.unpin : WORDS.pin,
            hint: state.pinned ? undefined : WORDS.pinHint,
            act: () => checkpoints.pin(state.id, !state.pinned),
        },
        !state.forks && {
            text: state.fork_anyway ? WORDS.noForkAnyway : WORDS.forkAnyway,
            hint: state.fork_anyway ? undefined : WORDS.forkAnywayHint,
            act: () => checkpoints.forkAnyway(state.id, !state.fork_anyway),
        },
        isInMemory(state) && { text: WORDS.saveNow, act: () => checkpoints.save(state.id) },
        canReplay && { text: WORDS.replayMenu, act: () => checkpoints.replay(state.id) },
    ];
}
