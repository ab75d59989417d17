// @ts-check
// The palette commands that compare states.

import { COMPARE_COMMAND_WORDS as SAY } from './compare-command-words.js';
import { BRANCHES_COMMAND_WORDS } from '../branches/branches-command-words.js';
import { entriesWith } from '../commands/commands.js';
import { withPart } from '../shell/lazy-parts.js';

/**
 * Asks the user for another state and compares it with the state `id`.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} id
 */
export const compareWith = (page, id) => withPart('pick', page, (part) => part.compareWith(page, id));

/** @param {import('../notebook/page.js').Page} page */
export const showBranches = (page) => withPart('branches', page, () => page.branchTable.open());

/**
 * @param {{page: import('../notebook/page.js').Page}} does
 * @returns {import('../commands/commands.js').Entry[]}
 */
export function compareCommands({ page }) {
    const ranIn = (/** @type {import('../commands/commands.js').Target} */ { view }) =>
        view?.props.cell.kind === 'ran' ? view.props.cell.state.id : null;
    const entry = entriesWith({ group: 'graph' });
    return [
        entry('compare.with', [], SAY.command, (at) => void compareWith(page, ranIn(at) ?? page.here), {
            words: SAY.commandWords,
            when: () => page.model.states.size > 1,
        }),
        entry('graph.branches', [], BRANCHES_COMMAND_WORDS.command, () => void showBranches(page), {
            words: BRANCHES_COMMAND_WORDS.commandWords,
        }),
        entry('compare.swap', [], SAY.swapCommand, () => page.comparison.swap(), {
            when: () => page.comparison.states.length === 2,
        }),
        entry('compare.close', [], SAY.closeCommand, () => page.comparison.close(), {
            when: () => page.comparison.isOpen,
        }),
    ];
}
