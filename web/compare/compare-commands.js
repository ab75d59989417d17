// @ts-check
// The palette's commands for comparing states.

import { COMPARE_WORDS as SAY } from './compare-words.js';
import { withPart } from '../shell/lazy-parts.js';

/**
 * Asks the user for another state and compares the two.
 * @param {import('../notebook/page.js').Page} page
 * @param {string} id
 */
export const compareWith = (page, id) => withPart('pick', page, (part) => part.compareWith(page, id));

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
            id: 'compare.swap',
            title: SAY.swapCommand,
            group: 'graph',
            when: () => page.comparison.pair !== null,
            act: () => page.comparison.swap(),
        },
        {
            id: 'compare.close',
            title: SAY.closeCommand,
            group: 'graph',
            when: () => page.comparison.pair !== null,
            act: () => page.comparison.close(),
        },
    ];
}
