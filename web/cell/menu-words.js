// @ts-check
// Hints of the menus: what an action will do.

import { counted } from '../text/format.js';

/** How many cells a restart stops. @param {number} n */
const stopsRunning = (n) => ` ${n === 1 ? 'One running cell' : `${n} running cells`} will be stopped.`;

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
    joined: (/** @type {number} */ n) => `${counted(n, 'cell')} became drafts of a new branch.`,
    // Run all, restart
    restWaits: 'The cells below run when the cell that is running has succeeded.',
    stopFirst: 'The cell is running. Stop it or wait, then try again.',
    aboveRan: 'All cells above have run.',
    allRan: 'All cells have run.',
    restartAsk: 'Restart?',
    restartWhy: (/** @type {number} */ n) =>
        `You return to the start, without variables. The cells shown become drafts there, ready to run ` +
        `again. Nothing is deleted: all states stay in the graph.${stopsRunning(n)}`,
    restartRunAsk: 'Restart and run all?',
    restartRunWhy: (/** @type {number} */ n) =>
        `All cells shown run again from the start, as a new branch. Nothing is deleted: all states stay ` +
        `in the graph.${stopsRunning(n)}`,
    // Below a NameError
    setAbove: (/** @type {string} */ name) =>
        `“${name}” is set in a cell above that has not finished on this branch.`,
    runTo: (/** @type {number} */ n) => `Run ${n === 1 ? 'the cell' : `the ${n} cells`} above and this one`,
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
