// @ts-check
// The table of a sweep as data: its rows, columns, order and progress, and the table as CSV and
// Markdown. Pure.

import { isInMemory } from '../checkpoints/residency.js';
import { pictureOf } from '../outputs/mime.js';
import { hasEnded } from '../shell/protocol.js';
import { csvWriter } from '../text/csv.js';
import { bytes, duration } from '../text/format.js';
import { endedIn, metricOf, resultOf, rowCount, runIdOf, shownMetric } from './sweeps.js';
import { TABLE_WORDS as SAY } from './sweep-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('./sweeps.js').Sweep} Sweep */
/** @typedef {keyof typeof SAY.rowStatus} Status */
/**
 * @typedef {object} TableRow
 * @property {number} row its index in the sweep
 * @property {string[]} values the values of the parameters as Python source
 * @property {number | null} metric
 * @property {number | null} difference from the best metric
 * @property {Status} status
 * @property {number} rung which cell of the rungs has left the result; 0 for the sweep's cell
 * @property {number | null} ms how long its cells ran
 * @property {number | null} memory the memory of its state, in bytes
 * @property {string} error why it failed or has no metric; '' if neither is the case
 * @property {string | null} state its result, if that still exists
 * @property {'memory' | 'disk' | 'replay' | null} where where the state is
 * @property {string | null} node the name of the worker's node; '' for a worker that is not known
 *   yet, null for a row that ran here
 * @property {Run | null} run the last run of the row that the page knows
 * @property {Run | null} picture the last run of the row with an image
 * @property {boolean} isBest
 */
/**
 * @typedef {'row' | `value ${number}` | 'metric' | 'difference' | 'status' | 'rung' | 'time' |
 *   'where' | 'node' | 'picture' | 'error'} ColumnKey
 */
/** @typedef {{key: ColumnKey, name: string, isNumber: boolean}} Column */
/** @typedef {{by: ColumnKey, isDown: boolean}} Order */

/** @param {Model} model @param {Sweep} sweep @returns {TableRow[]} */
export function tableRows(model, sweep) {
    const best = sweep.tally.best;
    const bestMetric = metricOf(sweep.rows[best]);
    return sweep.rows.map((own, row) => {
        const { values, ends } = own;
        const result = resultOf(own);
        const found = model.states.get(result?.state ?? '');
        const state = found && found.living !== 'deleted' ? found : null;
        const runs = [...Array(ends.length + 1).keys()].flatMap(
            (rung) => model.runs.get(runIdOf(sweep.id, row, rung)) ?? [],
        );
        const last = ends.at(-1);
        const metric = metricOf(own);
        return {
            row,
            values,
            metric,
            difference: metric === null || bestMetric === null ? null : metric - bestMetric,
            status: statusOf(sweep, own, runs.at(-1), state !== null),
            rung: result ? ends.indexOf(result) : 0,
            ms: ends.length ? ends.reduce((sum, { duration_ms }) => sum + (duration_ms ?? 0), 0) : null,
            memory: state?.memory_bytes ?? null,
            error: last ? errorOf(sweep, last) : '',
            state: state?.id ?? null,
            where: state ? whereOf(state) : null,
            node: nodeOf(runs.at(-1), last),
            run: runs.at(-1) ?? null,
            picture: runs.findLast(({ outputs }) => pictureOf(outputs)) ?? null,
            isBest: row === best,
        };
    });
}

/**
 * @param {Run | undefined} run
 * @param {import('./sweeps.js').RowEnd | undefined} end
 */
const nodeOf = (run, end) => (run?.worker ? (run.worker.node ?? end?.node ?? '') : (end?.node ?? null));

/** @param {import('../shell/protocol.js').State} state @returns {'memory' | 'disk' | 'replay'} */
const whereOf = (state) => (isInMemory(state) ? 'memory' : state.living === 'disk' ? 'disk' : 'replay');

/**
 * Why a run failed; '' for a run that a user or the end of the sweep has stopped.
 * @param {Sweep} sweep
 * @param {import('./sweeps.js').RowEnd} end
 */
function errorOf({ options: { timeout } }, { status, error, duration_ms }) {
    if (status !== 'interrupted') return error ?? (status === 'ok' ? '' : SAY.noError);
    return timeout !== null && (duration_ms ?? 0) >= timeout * 1000 ? SAY.timedOut(timeout) : '';
}

/**
 * @param {Sweep} sweep
 * @param {import('./sweeps.js').SweepRow} row
 * @param {Run | undefined} run its last run
 * @param {boolean} isThere whether the state of its result exists
 * @returns {Status}
 */
function statusOf(sweep, row, run, isThere) {
    if (run && !hasEnded(run.status)) return run.status;
    if (resultOf(row)) return isThere ? 'ok' : 'deleted';
    const last = row.ends.at(-1);
    return last ? last.status : sweep.status === 'running' ? 'waiting' : 'skipped';
}

/**
 * The columns that a table has now.
 * @param {Sweep} sweep
 * @param {TableRow[]} rows
 * @returns {Column[]}
 */
export function columnsOf(sweep, rows) {
    const { parameters, options } = sweep;
    const has = (/** @type {(row: TableRow) => unknown} */ what) => rows.some(what);
    /** @type {(Column | false)[]} */
    const all = [
        { key: 'row', name: SAY.row, isNumber: true },
        ...parameters.map(({ name }, i) => ({
            key: /** @type {ColumnKey} */ (`value ${i}`),
            name,
            isNumber: rows.every(({ values }) => numberOf(values[i]) !== null),
        })),
        options.metric !== null && { key: 'metric', name: options.metric || SAY.metric, isNumber: true },
        options.metric !== null && { key: 'difference', name: SAY.difference, isNumber: true },
        { key: 'status', name: SAY.statusName, isNumber: false },
        options.rungs !== null && { key: 'rung', name: SAY.rung, isNumber: true },
        { key: 'time', name: SAY.time, isNumber: true },
        has(({ node }) => node !== null) && { key: 'node', name: SAY.node, isNumber: false },
        has(({ where }) => where) && { key: 'where', name: SAY.state, isNumber: false },
        has(({ picture }) => picture) && { key: 'picture', name: SAY.picture, isNumber: false },
        has(({ error }) => error) && { key: 'error', name: SAY.error, isNumber: false },
    ];
    return all.filter((one) => one !== false);
}

/** The number that a Python literal is; null if it is none. @param {string | undefined} source */
export function numberOf(source) {
    const text = source?.trim().replaceAll('_', '') ?? '';
    return /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) ? Number(text) : null;
}

/** The text of a cell. @param {TableRow} row @param {ColumnKey} key */
export function textOf(row, key) {
    switch (key) {
        case 'row':
            return String(row.row + 1);
        case 'metric':
            return row.metric === null ? '' : shownMetric(row.metric);
        case 'difference':
            if (row.isBest) return SAY.best;
            return row.difference === null ? '' : signed(row.difference);
        case 'status':
            return SAY.rowStatus[row.status];
        case 'rung':
            return String(row.rung);
        case 'time':
            return row.ms === null ? '' : duration(row.ms);
        case 'where':
            if (row.where === null) return '';
            return row.where === 'memory' && row.memory !== null
                ? SAY.inMemory(bytes(row.memory))
                : SAY.where[row.where];
        case 'node':
            return row.node ?? (row.run ? SAY.here : '');
        case 'picture':
            return '';
        case 'error':
            return row.error;
        default:
            return row.values[Number(key.slice(6))] ?? '';
    }
}

/** @param {number} n */
const signed = (n) => (n > 0 ? `+${shownMetric(n)}` : shownMetric(n));

/**
 * The value by which a column sorts a row; null comes last.
 * @param {TableRow} row
 * @param {ColumnKey} key
 */
function sortValue(row, key) {
    switch (key) {
        case 'row':
            return row.row;
        case 'metric':
        case 'difference':
            return row[key];
        case 'rung':
            return row.rung;
        case 'time':
            return row.ms;
        case 'where':
            return row.where === 'memory' ? (row.memory ?? 0) : row.where && SAY.where[row.where];
        case 'picture':
            return row.picture ? 0 : null;
        default: {
            const text = textOf(row, key);
            return numberOf(text) ?? (text.replace(/^['"]/, '') || null);
        }
    }
}

/**
 * Sorts rows: numbers as numbers and before texts, rows without a value last. Equal rows keep the
 * order of the sweep.
 * @param {TableRow[]} rows
 * @param {Order | null} order
 * @returns {TableRow[]}
 */
export function sortedRows(rows, order) {
    if (!order) return rows;
    const sign = order.isDown ? -1 : 1;
    return rows.toSorted((a, b) => {
        const [one, other] = [sortValue(a, order.by), sortValue(b, order.by)];
        if (one === null || other === null) return Number(one === null) - Number(other === null);
        if (typeof one === 'number' && typeof other === 'number') return sign * (one - other);
        if (typeof one !== typeof other) return typeof one === 'number' ? -1 : 1;
        return sign * String(one).localeCompare(String(other), 'en', { numeric: true });
    });
}

/**
 * The order after a press on a column's name: the best first for the metric, else ascending; then
 * the other way; then the order of the sweep.
 * @param {Order | null} order
 * @param {ColumnKey} by
 * @param {Sweep} sweep
 * @returns {Order | null}
 */
export function nextOrder(order, by, { options }) {
    const isFirstDown = (by === 'metric' || by === 'difference') && options.goal !== 'min';
    if (order?.by !== by) return { by, isDown: isFirstDown };
    return order.isDown === isFirstDown ? { by, isDown: !isFirstDown } : null;
}

/**
 * @typedef {object} Progress
 * @property {number} all
 * @property {number} ended
 * @property {number} ok
 * @property {number} failed
 * @property {number} stopped
 * @property {number} running
 * @property {number} waiting the rows that are still to run, or that no longer run
 * @property {number | null} leftMs how long the sweep still takes; null if that is not known
 */

/** @param {Sweep} sweep @param {TableRow[]} rows @returns {Progress} */
export function progressOf(sweep, rows) {
    const { ok, failed, stopped, runs } = sweep.tally;
    const all = rowCount(sweep);
    const running = rows.filter(({ status }) => status === 'running' || status === 'queued').length;
    const ended = endedIn(sweep.tally);
    // A row that runs a rung has ended its first cell.
    const begun = rows.filter(
        ({ row, status }) =>
            (status === 'running' || status === 'queued') && sweep.rows[row]?.ends.length === 0,
    ).length;
    const waiting = Math.max(0, all - ended - begun);
    const spent = rows.reduce((sum, { ms }) => sum + (ms ?? 0), 0);
    const knows = sweep.status === 'running' && runs > 0 && running > 0 && !sweep.options.rungs;
    const leftMs = knows ? ((spent / runs) * (waiting + begun / 2)) / running : null;
    return { all, ended, ok, failed, stopped, running, waiting, leftMs };
}

/**
 * The other rows whose states a collapse deletes, without the states from which somebody has
 * continued.
 * @param {Model} model
 * @param {Sweep} sweep
 * @param {number} kept
 * @returns {number[]}
 */
export function rowsToDelete(model, sweep, kept) {
    const own = new Set(sweep.rows.flatMap(({ ends }) => ends.flatMap(({ state }) => state ?? [])));
    /** @type {(state: string) => boolean} */
    const goesOn = (state) =>
        (model.children.get(state) ?? []).some((child) => !own.has(child) || goesOn(child));
    const isDeleted = (/** @type {string | null} */ id) => {
        const state = model.states.get(id ?? '');
        return state !== undefined && state.living !== 'deleted' && !goesOn(state.id);
    };
    return sweep.rows.flatMap(({ ends }, row) =>
        row !== kept && ends.some(({ state }) => isDeleted(state)) ? row : [],
    );
}

/**
 * @param {Sweep} sweep
 * @param {TableRow[]} rows
 * @returns {string[][]} the table with its header, as for a file
 */
function plainTable(sweep, rows) {
    const { parameters, options } = sweep;
    const head = [
        'row',
        ...parameters.map(({ name }) => name),
        ...(options.metric === null ? [] : [options.metric]),
        'status',
        ...(options.rungs === null ? [] : ['rung']),
        'seconds',
        'memory_bytes',
        'error',
        'state',
    ];
    const body = rows.map((row) => [
        String(row.row + 1),
        ...row.values,
        ...(options.metric === null ? [] : [row.metric === null ? '' : String(row.metric)]),
        SAY.rowStatus[row.status],
        ...(options.rungs === null ? [] : [String(row.rung)]),
        row.ms === null ? '' : String(Number((row.ms / 1000).toPrecision(6))),
        row.memory === null ? '' : String(row.memory),
        row.error,
        row.state ?? '',
    ]);
    return [head, ...body];
}

/** The rows as CSV (RFC 4180). @param {Sweep} sweep @param {TableRow[]} rows */
export const csvOf = (sweep, rows) => plainTable(sweep, rows).map(csvWriter(',')).join('\r\n').concat('\r\n');

/**
 * How many rows the given states belong to.
 * @param {Sweep} sweep
 * @param {string[]} states
 */
export function rowsOf(sweep, states) {
    const some = new Set(states);
    return sweep.rows.filter(({ ends }) => ends.some(({ state }) => state !== null && some.has(state)))
        .length;
}

/**
 * The rows that are marked after a press: the press adds or removes a row, with Shift all rows from
 * the last pressed one on.
 * @param {{rows: number[], last: number | null}} marked
 * @param {number} row
 * @param {number[]} [shown] the rows in the order shown, if Shift is down
 * @returns {{rows: number[], last: number | null}}
 */
export function markedAfter({ rows, last }, row, shown) {
    const [from, to] = [shown?.indexOf(last ?? -1) ?? -1, shown?.indexOf(row) ?? -1];
    if (shown && from >= 0 && to >= 0) {
        const more = shown.slice(Math.min(from, to), Math.max(from, to) + 1);
        return { rows: [...new Set([...rows, ...more])], last };
    }
    return { rows: rows.includes(row) ? rows.filter((one) => one !== row) : [...rows, row], last: row };
}

/**
 * The rows as a Markdown table.
 * @param {TableRow[]} rows
 * @param {Column[]} columns
 */
export function markdownOf(rows, columns) {
    const shown = columns.filter(({ key }) => key !== 'picture');
    const escaped = (/** @type {string} */ text) =>
        text.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll(/\s+/g, ' ');
    const line = (/** @type {string[]} */ cells) => `| ${cells.map(escaped).join(' | ')} |`;
    return [
        line(shown.map(({ name }) => name)),
        `|${shown.map(({ isNumber }) => (isNumber ? '---:' : '---')).join('|')}|`,
        ...rows.map((row) => line(shown.map(({ key }) => textOf(row, key)))),
        '',
    ].join('\n');
}
