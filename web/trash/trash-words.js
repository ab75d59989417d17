// @ts-check
// Texts about deleted states and failed attempts.

/** @param {number} n @param {string} one */
const count = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;

export const TRASH_WORDS = {
    menu: 'Deleted states…',
    title: 'Deleted states',
    why: 'States and failed attempts stay here for 30 days. What was deleted together is restored together.',
    none: 'Nothing was deleted.',
    loading: 'Loading…',
    unreachable: 'The list cannot be loaded: the server cannot be reached.',
    restore: 'Restore',
    /** The name of the button for screen readers. @param {string} what */
    restoreOf: (what) => `Restore ${what}`,
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
        [states && count(states, 'state'), attempts && count(attempts, 'failed attempt')]
            .filter(Boolean)
            .join(', '),
    /** @param {number} n */
    more: (n) => `and ${n} more`,
};
