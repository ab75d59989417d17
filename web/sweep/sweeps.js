// @ts-check
// The rows of sweeps, as the model and the graph need them: which run belongs to which row, the
// result of a row, and the best row. Pure.

/** @typedef {import('../shell/protocol-types').Sweep} SentSweep */
/** @typedef {import('../shell/protocol-types').SweepRow} SweepRow */
/** @typedef {import('../shell/protocol-types').RowEnd} RowEnd */
/**
 * @typedef {object} Tally The counts of a sweep, so that no paint visits all rows.
 * @property {number} runs the runs that have ended, with those of rungs
 * @property {number} ok the rows with a result
 * @property {number} failed the rows that ended without one
 * @property {number} stopped the rows that were interrupted
 * @property {number} best the index of the row with the best metric; -1 if no row has one
 */
/**
 * @typedef {SentSweep & {number: number, rev: number, tally: Tally}} Sweep `number`: 1 for the
 *   sweep that began first; `rev`: the model's `rev` of its last change
 */
/**
 * @typedef {{sweep: Sweep, row: number, rung: number}} Member A run of a row; `rung`: 0 for the
 *   sweep's cell, else which cell of the rungs it is
 */

/** A sweep with more rows than this is folded in the graph. */
export const FEW_ROWS = 8;

/**
 * The id of a row's run.
 * @param {string} sweep
 * @param {number} row
 * @param {number} [rung]
 */
export const runIdOf = (sweep, row, rung = 0) => (rung ? `${sweep}.${row}.${rung}` : `${sweep}.${row}`);

/**
 * The row to which a run belongs; null if it belongs to none.
 * @param {ReadonlyMap<string, Sweep>} sweeps
 * @param {string | null | undefined} execId
 * @returns {Member | null}
 */
export function memberOf(sweeps, execId) {
    if (!execId || sweeps.size === 0) return null;
    const [whole, last] = parted(execId);
    const direct = sweeps.get(whole);
    if (direct && last < direct.rows.length) return { sweep: direct, row: last, rung: 0 };
    const [id, row] = parted(whole);
    const sweep = sweeps.get(id);
    return sweep && row < sweep.rows.length && last > 0 ? { sweep, row, rung: last } : null;
}

/** The parts before and after the last dot. @param {string} id @returns {[string, number]} */
function parted(id) {
    const [, before = '', number = ''] = id.match(/^(.+)\.(0|[1-9]\d*)$/) ?? [];
    return [before, number ? Number(number) : Number.NaN];
}

/**
 * The row whose run made a state; null if there is none.
 * @param {import('../shell/model.js').Model} model
 * @param {string} state
 */
export const memberAt = (model, state) => memberOf(model.sweeps, model.states.get(state)?.exec_id);

/** A row's result: its last end with status ok. @param {SweepRow} row @returns {RowEnd | null} */
export const resultOf = ({ ends }) => ends.findLast(({ status }) => status === 'ok') ?? null;

/** The last metric of a row; null if there is none. @param {SweepRow | undefined} row */
export const metricOf = (row) => row?.ends.findLast(isRanked)?.metric ?? null;

/** Whether a row can be ranked by the metric of one of its runs. @param {RowEnd} end */
const isRanked = ({ status, state, metric }) => status === 'ok' && state !== null && metric !== null;

/**
 * Whether one row is better than another: if it got further in the rungs, else by its metric. Same
 * rule as `Sweep::ranking` in src/notebook/sweep.rs.
 * @param {SentSweep} sweep
 * @param {SweepRow} row
 * @param {SweepRow | undefined} other
 */
function isBetterRow({ options }, row, other) {
    const [own, its] = [metricOf(row), metricOf(other)];
    if (own === null) return false;
    if (its === null || !other) return true;
    const further = row.ends.filter(isRanked).length - other.ends.filter(isRanked).length;
    return further > 0 || (further === 0 && (options.goal === 'min' ? own < its : own > its));
}

/** The number of rows that a sweep will have. @param {SentSweep} sweep */
export const rowCount = ({ sampler, rows, status }) =>
    status === 'running' ? Math.max(sampler?.trials ?? 0, rows.length) : rows.length;

/** Whether the graph folds a sweep unless the user has unfolded it. @param {SentSweep} sweep */
export const isLong = ({ sampler, rows }) => Math.max(sampler?.trials ?? 0, rows.length) > FEW_ROWS;

/** @param {SentSweep} sweep @returns {Tally} */
export function tallyOf(sweep) {
    const tally = { runs: 0, ok: 0, failed: 0, stopped: 0, best: bestIn(sweep) };
    for (const { ends } of sweep.rows) {
        tally.runs += ends.length;
        if (ends[0]) tally[kindOf(ends[0])] += 1;
    }
    return tally;
}

/** How a tally counts a row, by its first end. @param {RowEnd} end */
const kindOf = ({ status }) => (status === 'ok' ? 'ok' : status === 'interrupted' ? 'stopped' : 'failed');

/** The rows that have ended. @param {Tally} tally */
export const endedIn = ({ ok, failed, stopped }) => ok + failed + stopped;

/**
 * Counts the last end of a row.
 * @param {SentSweep} sweep
 * @param {Tally} tally
 * @param {number} at
 * @param {SweepRow} row with the end
 */
export function count(sweep, tally, at, row) {
    tally.runs += 1;
    if (row.ends.length === 1 && row.ends[0]) tally[kindOf(row.ends[0])] += 1;
    // The metric of the best row may have become worse.
    if (tally.best === at) tally.best = bestIn(sweep);
    else if (isBetterRow(sweep, row, sweep.rows[tally.best])) tally.best = at;
}

/** @param {SentSweep} sweep */
function bestIn(sweep) {
    let best = -1;
    for (const [at, row] of sweep.rows.entries()) if (isBetterRow(sweep, row, sweep.rows[best])) best = at;
    return best;
}

/** The values of a row: `lr = 0.1, depth = 3`. @param {SentSweep} sweep @param {number} row */
export const valuesText = ({ parameters, rows }, row) =>
    parameters.map(({ name }, i) => `${name} = ${rows[row]?.values[i] ?? '?'}`).join(', ');

/**
 * The values of a row without names, those of parameters that differ between the rows first.
 * @param {Sweep} sweep
 * @param {number} row
 */
export function shortValues({ parameters, rows }, row) {
    const own = rows[row]?.values ?? [];
    const differ = (/** @type {number} */ i) => rows.some(({ values }) => values[i] !== own[i]);
    return parameters
        .map((_, i) => ({ text: own[i]?.replace(/^(['"])([^'"\\]*)\1$/, '$2') ?? '?', isFirst: differ(i) }))
        .sort((a, b) => Number(b.isFirst) - Number(a.isFirst))
        .map(({ text }) => text)
        .join(', ');
}

/**
 * A metric with few significant digits.
 * @param {number} metric
 * @param {number} [digits]
 */
export const shownMetric = (metric, digits = 6) =>
    String(Number(metric.toPrecision(digits))).replace(/^-/, '−');
