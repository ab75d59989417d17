// @ts-check
// Opens the grid of a data frame: from an output, the variables pane and the palette.

import { entryOf } from '../commands/commands.js';
import { withPart } from '../shell/lazy-parts.js';
import { OPEN_WORDS as SAY } from './open-words.js';

/** @typedef {import('../notebook/page.js').Page} Page */

/**
 * @param {Page} page
 * @param {import('./shown-table.js').ShownTable} what
 * @param {string} [id] of the output that shows the data frame
 */
export const openGrid = (page, what, id) =>
    withPart('table', page, ({ showGrid }) => showGrid(page, what, id));

/**
 * @param {{page: Page}} does
 * @returns {import('../commands/commands.js').Entry[]}
 */
export function tableCommands({ page }) {
    const open = (/** @type {import('../commands/commands.js').Target} */ { view }) =>
        void withPart('table', page, ({ showGridOf }) => showGridOf(page, view?.props.cell));
    return [
        entryOf('table.open', [], SAY.command, open, { words: SAY.commandWords, when: () => page.mayRun }),
    ];
}
