// @ts-check
// The palette commands that compare states.

import { COMPARE_COMMAND_WORDS as SAY } from './compare-command-words.js';
import { BRANCHES_WORDS } from '../branches/branches-words.js';
import { withPart } from '../shell/lazy-parts.js';

/**
 * Asks the user for another state and compares it with the state `id`.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} id
 */
export const compareWith = (page, id) => withPart('pick', page, (part) => part.compareWith(page, id));

/** @param {import('../notebook/page.js').Page} page */
export const showBranches = (page) => withPart('branches', page, (part) => part.showBranches(page));

/**
 * @param {{page: import('../notebook/page.js').Page}} does
 * @returns {import('../commands/commands.js').Entry[]}
 */
export function compareCommands({ page }) {
    const ranIn = (/** @type {import('../commands/commands.js').Target} */ { view }) =>
        view?.props.cell.kind === 'ran' ? view.props.cell.state.id : null;
    return [
        {
            id: 'compare.with',
            title: SAY.command,
            words: SAY.commandWords,
            group: 'graph',
            when: () => page.model.states.size > 1,
            act: (at) => void compareWith(page, ranIn(at) ?? page.here),
        },
        {
            id: 'graph.branches',
            title: BRANCHES_WORDS.command,
            words: BRANCHES_WORDS.commandWords,
            group: 'graph',
            act: () => void showBranches(page),
        },
        {
            id: 'compare.swap',
            title: SAY.swapCommand,
            group: 'graph',
            when: () => page.comparison.states.length === 2,
            act: () => page.comparison.swap(),
        },
        {
            id: 'compare.close',
            title: SAY.closeCommand,
            group: 'graph',
            when: () => page.comparison.isOpen,
            act: () => page.comparison.close(),
        },
    ];
}
