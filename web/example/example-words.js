// @ts-check
// The texts of the example's guide. The names of buttons are those that the page shows.

import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { WORDS } from '../shell/words.js';

export const EXAMPLE_WORDS = Object.freeze({
    title: 'Example',
    progress: (/** @type {number} */ done, /** @type {number} */ all) => `Step ${done} of ${all}`,
    close: 'Close the example’s guide',
    noConnection: 'The example could not be loaded. Try again when the server can be reached.',
    /** @type {Readonly<Record<import('./guide.js').Step, string>>} */
    steps: Object.freeze({
        run: `Run the four cells: press Shift-Enter in each, or “${WORDS.runThese(4)}”.`,
        branch:
            'Is there a better answer? In the cell “features = …”, type "bill_length_mm", ' +
            '"bill_depth_mm" instead, and press Shift-Enter. This starts a branch: the cell as it ran is kept.',
        below: `You are on the new branch. Press “${EDITOR_WORDS.replayRest(2)}” to finish it.`,
        third:
            'Start a third branch in the same way. Name three or four measurements, for example, and run ' +
            'the cells below again.',
        compare:
            `The cell “features = …” has a tab for each branch now, and the graph a line for each. Press ` +
            `“${COMPARE_COMMAND_WORDS.compareVersions}” beside the tabs.`,
        back:
            'Here is what differs. Close the comparison (Escape), and click the tab of another branch: ' +
            'all its cells, outputs and variables are back.',
        done: 'You have grown three branches, compared them and gone back. Every cell that ever ran can do this.',
    }),
});
