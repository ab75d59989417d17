// @ts-check
// The texts about sweeps that the graph, the cells and the menus show before the dialog and the
// table of a sweep are loaded.

import { endedIn, metricOf, rowCount, shortValues, shownMetric, valuesText } from './sweeps.js';

/** @typedef {import('./sweeps.js').Sweep} Sweep */

/** @param {number} n */
const rows = (n) => (n === 1 ? '1 row' : `${n} rows`);

/**
 * The name of a sweep: its label, else its parameters.
 * @param {import('./sweeps.js').SentSweep} sweep
 */
export const sweepName = ({ options, parameters }) =>
    options.label ?? (parameters.map(({ name }) => name).join(' × ') || 'sweep');

/** @param {Sweep} sweep */
const shortName = ({ number, options }) => `Sweep ${options.label ?? number}`;

/** What a node of the graph has room for. @param {Sweep} sweep */
function shortly(sweep) {
    const { tally, status, options } = sweep;
    const [all, ended] = [rowCount(sweep), endedIn(tally)];
    const best = metricOf(sweep.rows[tally.best]);
    const count = status === 'running' && ended < all ? `${ended}/${all}` : rows(all);
    return options.metric && best !== null ? `best = ${shownMetric(best, 4)}, ${count}` : count;
}

/** @param {Sweep} sweep */
function counts(sweep) {
    const { tally, status, options } = sweep;
    const [all, ended] = [rowCount(sweep), endedIn(tally)];
    const best = metricOf(sweep.rows[tally.best]);
    return [
        status === 'running' && ended < all ? `${ended} of ${rows(all)}` : rows(all),
        tally.failed > 0 && `${tally.failed} failed`,
        tally.stopped > 0 && `${tally.stopped} stopped`,
        options.metric && best !== null && `best ${shownMetric(best)}`,
    ].filter(Boolean);
}

export const ROW_WORDS = Object.freeze({
    command: 'Sweep the parameters of the cell',
    commandWords: 'sweep grid search hyperparameters values ranges branches optuna',
    menu: 'Sweep…',
    menuHint: 'Runs this cell with many values of its parameters, each as a branch',
    wait: 'Wait until the cells above have run, then start the sweep.',
    openTable: 'Show the table of a sweep',
    openTableWords: 'sweep results metrics rows',
    table: 'Show the table',
    stop: 'Stop the sweep',
    remove: 'Delete the sweep…',
    unfold: 'Show the rows',
    fold: 'Hide the rows',
    sweep: (/** @type {Sweep} */ sweep) =>
        sweep.options.label ? shortName(sweep) : `${shortName(sweep)}: ${sweepName(sweep)}`,
    /** What the graph shows of a row. */
    brief: (/** @type {import('./sweeps.js').Member} */ { sweep, row }) => {
        const metric = metricOf(sweep.rows[row]);
        const said = `row ${row + 1}: ${shortValues(sweep, row)}`;
        const star = row === sweep.tally.best ? '★ ' : '';
        return star + (metric === null ? said : `${said} · ${shownMetric(metric, 4)}`);
    },
    best: 'the best row',
    row: (/** @type {number} */ row, /** @type {string} */ values) => `row ${row + 1}: ${values}`,
    counts: (/** @type {Sweep} */ sweep) => counts(sweep).join(', '),
    shortly,
    status: { running: 'running', done: 'done', stopped: 'stopped' },
    hidden: 'rows hidden, press f to show',
    /** The line below a cell: which row of which sweep it is, and its own metric. */
    line: (/** @type {import('./sweeps.js').Member} */ { sweep, row, rung }) => {
        const metric = sweep.rows[row]?.ends[rung]?.metric ?? null;
        const values = rung === 0 ? valuesText(sweep, row) : '';
        const said = metric === null ? '' : `metric ${shownMetric(metric)}`;
        const after = [values, said].filter(Boolean).join(', ');
        return {
            before: `${rung === 0 ? `Row ${row + 1}` : `Continuation ${rung} of row ${row + 1}`} of `,
            name: shortName(sweep),
            after: after && `: ${after}`,
        };
    },
});
