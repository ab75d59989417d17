// @ts-check
// Where the grid of a data frame appears: in a dialog, or in the output of a cell instead of the
// static table. The tab remembers which outputs show a grid, and the order of their rows.

import { keep, recall } from '../outputs/output-settings.js';
import { ask, show } from '../ui/dialog.js';
import { html } from '../vendor/preact.js';
import { GridView } from './grid-view.js';
import { isTable } from '../variables/value-kind.js';
import { shownTable } from './shown-table.js';
import { StateSource } from './state-source.js';
import { TABLE_WORDS as SAY } from './table-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('./shown-table.js').ShownTable} ShownTable */
/** @typedef {import('./table-data.js').Order} Order */

/** The least and the greatest number of rows that have room in an output. */
const ROWS = { least: 5, most: 12 };

/** The grids in outputs, by the output's id. @type {Map<string, GridView>} */
const inPlace = new Map();

/**
 * Shows a data frame in a dialog. The order of the rows is that of the output's grid, and goes back
 * to it when the dialog closes.
 * @param {Page} page
 * @param {ShownTable} what
 * @param {string} [id] of the output
 */
export async function showGrid(page, what, id = '') {
    const before = inPlace.get(id)?.data.order ?? null;
    let order = before;
    const onOrder = (/** @type {Order} */ now) => (order = now);
    await show(
        (done) =>
            html`<${GridView} source=${new StateSource(page, what)} order=${before} onOrder=${onOrder}
                onClose=${() => done(null)} />`,
        'grid',
    );
    if (order && order !== before) inPlace.get(id)?.show(order);
}

/**
 * The grid in an output.
 * @param {{page: Page, what: ShownTable, id: string, item: import('../shell/model.js').Item}} props
 */
export function GridInPlace({ page, what, id, item }) {
    const { order = null, isNew } = recall(`grid ${id}`) ?? {};
    const mounted = (/** @type {GridView | null} */ view) =>
        void (view ? inPlace.set(id, view) : inPlace.delete(id));
    return html`<${GridView} source=${new StateSource(page, what)} rows=${roomFor(item)} order=${order}
        isNew=${isNew === true} onMount=${mounted}
        onOrder=${(/** @type {Order} */ now) => keep(`grid ${id}`, { order: now })} />`;
}

/**
 * The number of rows that have room: those of the static table, within limits. It never changes, so
 * that no cell below moves when rows arrive.
 * @param {import('../shell/model.js').Item} item
 */
function roomFor(item) {
    if (!('data' in item)) return ROWS.most;
    const text = (/** @type {string} */ type) => [item.data[type] ?? ''].flat().join('');
    const rows = (text('text/html').match(/<tr\b/g) ?? text('text/plain').split('\n')).length - 1;
    return Math.max(ROWS.least, Math.min(rows, ROWS.most));
}

/**
 * Shows the data frame of a cell's output. If it shows none, asks for a name in the current state.
 * @param {Page} page
 * @param {import('../notebook/cell-list.js').Cell | undefined} cell
 */
export async function showGridOf(page, cell) {
    const run = cell?.kind === 'ran' ? cell.run : null;
    for (const [i, item] of [...(run?.outputs.entries() ?? [])].reverse()) {
        const shown = run && shownTable(run, item);
        if (shown) return showGrid(page, shown, `${run.exec_id} ${i}`);
    }
    const known = page.variables.known.get(page.here);
    const input = Array.isArray(known) ? (known.find(isTable)?.name ?? '') : '';
    const title = (
        await ask({ title: SAY.ask, why: SAY.askWhy, act: SAY.open, input, longest: 1000 })
    )?.trim();
    return title ? showGrid(page, { state: page.here, expression: title, title }) : undefined;
}
