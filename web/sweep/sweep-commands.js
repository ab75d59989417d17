// @ts-check
// Opens the dialog and the table of sweeps: from the menus of cells and of the graph, and from the
// palette.

import { entryOf } from '../commands/commands.js';
import { withPart } from '../shell/lazy-parts.js';
import { ROW_WORDS as SAY } from './row-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('./sweeps.js').Sweep} Sweep */

/** Shows the table of a sweep. @param {Page} page @param {string} id */
export const showSweep = (page, id) => withPart('sweep', page, (part) => part.showTable(page, id));

/**
 * Asks for the values of a cell's parameters.
 * @param {Page} page
 * @param {import('../notebook/cell-list.js').Cell} cell
 * @param {string} code
 */
export const askSweep = (page, cell, code) =>
    withPart('sweep', page, (part) => part.askSweep(page, cell, code));

/** Whether the user may delete sweeps and their states. @param {Page} page */
const mayDelete = (page) => page.mayRun && page.scope === 'owner';

/** Deletes a sweep after a question. @param {Page} page @param {string} id */
export const removeSweep = (page, id) =>
    mayDelete(page) && withPart('sweep', page, (part) => part.removeSweep(page, id));

/**
 * The actions on a sweep's node.
 * @param {Page} page
 * @param {Sweep} sweep
 * @returns {import('../ui/menu.js').Action[]}
 */
export const sweepActions = (page, sweep) => [
    { text: SAY.table, act: () => void showSweep(page, sweep.id) },
    page.mayRun &&
        sweep.status === 'running' && {
            text: SAY.stop,
            act: async () => page.reportRefusal(await page.host.send({ do: 'stop_sweep', sweep: sweep.id })),
        },
    mayDelete(page) && { text: SAY.remove, act: () => void removeSweep(page, sweep.id), isBad: true },
];

/**
 * @param {import('../cell/cell-controller.js').CellController} cells
 * @returns {import('../commands/commands.js').Entry[]}
 */
export function sweepCommands({ page, runs }) {
    return [
        entryOf('run.sweep', 'Mod-Alt-Shift-s', SAY.command, ({ view }) => void (view && runs.sweep(view)), {
            words: SAY.commandWords,
            group: 'run',
            mode: ['cell', 'editor'],
            when: ({ view }) => view !== null && runs.mayTryVariants(view),
        }),
        entryOf(
            'graph.sweep',
            [],
            SAY.openTable,
            () => void withPart('sweep', page, (part) => part.chooseSweep(page)),
            {
                words: SAY.openTableWords,
                group: 'graph',
                when: () => page.model.sweeps.size > 0,
            },
        ),
    ];
}
