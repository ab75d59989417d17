// @ts-check
// Opens the grid of a data frame: from an output, the variables pane and the palette.

import { entryOf } from '../commands/commands.js';
import { withPart } from '../shell/lazy-parts.js';
import { ask } from '../ui/dialog.js';
import { shownTable } from './shown-table.js';
import { OPEN_WORDS as SAY } from './open-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */

/** @param {Page} page @param {import('./shown-table.js').ShownTable} what */
export const openGrid = (page, what) => withPart('table', page, ({ showGrid }) => showGrid(page, what));

/**
 * Whether a variable is a data frame or a series.
 * @param {import('../shell/protocol.js').Variable} variable
 */
export const isTable = ({ type, summary }) => summary?.kind === 'frame' || type === 'Series';

/**
 * @param {{page: Page}} does
 * @returns {import('../commands/commands.js').Entry[]}
 */
export function tableCommands({ page }) {
    return [
        entryOf('table.open', [], SAY.command, ({ view }) => void open(page, view), {
            words: SAY.commandWords,
            when: () => page.mayRun,
        }),
    ];
}

/**
 * Opens the data frame that the cell shows. If it shows none, asks for a name in the current state.
 * @param {Page} page
 * @param {import('../cell/cell.js').Cell | null} view
 */
async function open(page, view) {
    const cell = view?.props.cell;
    const run = cell?.kind === 'ran' ? cell.run : null;
    const shown = run?.outputs.map((item) => shownTable(run, item)).findLast((one) => one !== null);
    if (shown) return openGrid(page, shown);
    const known = page.variables.known.get(page.here);
    const input = Array.isArray(known) ? (known.find(isTable)?.name ?? '') : '';
    const title = (
        await ask({ title: SAY.ask, why: SAY.askWhy, act: SAY.open, input, longest: 1000 })
    )?.trim();
    return title ? openGrid(page, { state: page.here, expression: title, title }) : undefined;
}
