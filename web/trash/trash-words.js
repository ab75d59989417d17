// @ts-check
// Texts about deleted states and failed attempts.

import { bytes, counted } from '../text/format.js';

export const TRASH_WORDS = {
    // Actions
    deleteState: 'Delete this state',
    /** @param {number} n */
    deleteSubtree: (n) =>
        n === 1 ? 'Delete this state and the one below' : `Delete this state and the ${n} below`,
    /** @param {number} n */
    keepBranch: (n) => `Keep this branch, delete ${n === 1 ? 'the other' : `${n} others`}`,
    /** @param {number} n */
    keptBranch: (n) => `Kept this branch, deleted ${n === 1 ? 'the other' : `${n} others`}.`,
    noBranches: 'Nothing branches off from this line of cells.',
    /**
     * What a deletion takes.
     * @param {{count: number, failed: number, bytes: number, running?: number,
     *   staying?: number}} what `count`: of the states; `failed`: of the attempts; `bytes`: the
     *   memory that they free; `running`: the cells that it stops; `staying`: the states below
     *   that stay
     */
    deleteHint: ({ count: n, failed, bytes: freed, running = 0, staying = 0 }) =>
        [
            `Deletes ${counted(n, 'state')}${failed ? ` and ${counted(failed, 'failed attempt')}` : ''}${freed ? `, frees ${bytes(freed)} of memory` : ''}.`,
            running && `Stops ${counted(running, 'running cell')}.`,
            staying && `${staying === 1 ? 'The state below stays.' : `The ${staying} below stay.`}`,
            'Undo for 30 days.',
        ]
            .filter(Boolean)
            .join(' '),
    // The list
    menu: 'Deleted states…',
    title: 'Deleted states',
    why: 'States and failed attempts stay here for 30 days. What was deleted together is restored together.',
    none: 'Nothing was deleted.',
    loading: 'Loading…',
    unreachable: 'The list cannot be loaded: the server cannot be reached.',
    restore: 'Restore',
    /** The name of the button for screen readers. @param {string} what */
    restoreOf: (what) => `Restore ${what}`,
    goTo: 'Go to state',
    /** The name of the button for screen readers. @param {string} what */
    goToOf: (what) => `Go to ${what}`,
    empty: 'Delete permanently…',
    emptyAsk: 'Delete everything in this list permanently?',
    emptyWhy: 'This cannot be undone. The disk space of their checkpoints is freed.',
    emptyDo: 'Delete permanently',
    emptied: 'Deleted permanently.',
    restored: 'Restored.',
    /**
     * What one deletion took away.
     * @param {number} states
     * @param {number} attempts
     */
    counted: (states, attempts) =>
        [states && counted(states, 'state'), attempts && counted(attempts, 'failed attempt')]
            .filter(Boolean)
            .join(', '),
    /** @param {number} n */
    more: (n) => `and ${n} more`,
};
