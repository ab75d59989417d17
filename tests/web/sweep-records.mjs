// Records of sweeps as the server sends them.

import { tallyOf } from '../../web/sweep/sweeps.js';

/**
 * A sweep of one parameter, `x`, whose rows have not run.
 * @param {string} id
 * @param {string} at
 * @param {number} count
 * @param {Partial<import('../../web/shell/protocol-types').SweepOptions>} [options]
 * @returns {import('../../web/sweep/sweeps.js').Sweep}
 */
export function sweep(id, at, count, options = {}) {
    const own = {
        id,
        at,
        code: 'x = 1\ny = x ** 2',
        parameters: [{ name: 'x', range: { from: 4, to: 5 } }],
        options: {
            metric: 'y',
            goal: /** @type {const} */ ('max'),
            parallel: 2,
            timeout: null,
            run_memory: null,
            stop: { trials: null, seconds: null, target: null },
            keep: null,
            rungs: null,
            label: null,
            where: /** @type {const} */ ('here'),
            ...options,
        },
        rows: Array.from({ length: count }, (_, row) => ({ values: [String(row)], ends: [] })),
        created_at: 0,
        status: /** @type {const} */ ('running'),
        ended_at: null,
        note: null,
    };
    return { ...own, number: 1, rev: 0, tally: tallyOf(own) };
}

/**
 * The end of a row's run that succeeded.
 * @param {number | null} metric
 * @param {Partial<import('../../web/sweep/sweeps.js').RowEnd>} [more]
 */
export const ended = (metric, more = {}) => ({
    status: /** @type {const} */ ('ok'),
    state: 'left',
    metric,
    error: null,
    duration_ms: 10,
    ...more,
});
