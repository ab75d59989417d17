// @ts-check
// Hints of the menus: what an action will do.

import { counted } from '../text/format.js';

export const MENU_WORDS = Object.freeze({
    goBack: 'Go back to before this cell',
    leaveOut: 'Leave this cell out',
    leaveOutHint: 'The cells below then run again in a new branch. Nothing is deleted.',
    goBackHint: 'The cell stays in the graph, as a branch',
    keepHint: 'In a pane at the right, which follows the cell',
    /** Other words by which the palette finds an action. */
    also: Object.freeze({
        branch: 'fork experiment alternative',
        goBack: 'undo return revert',
        label: 'name rename tag bookmark branch',
        keep: 'prune clean up remove discard other branches',
        output: 'pin view output beside pane',
        variants: 'experiment alternatives',
    }),
    runs: (/** @type {number} */ n) => `Runs ${counted(n, 'cell')}`,
    runsRest: 'Then, if it succeeds, the cells that ran below',
    // Clearing outputs
    clearedOutput: 'Output cleared.',
    clearOutputs: 'Clear all outputs',
    clearedOutputs: (/** @type {number} */ n) =>
        `Outputs cleared. ${n === 1 ? 'The cell is a draft' : 'All cells are drafts'} at the start now; ` +
        'the outputs stay in the graph.',
    clearLater: 'A cell is running. Stop it or wait, then clear the outputs.',
    noOutputs: 'No cell shows an output.',
    alsoClear: 'remove delete results',
});
