// @ts-check
// Texts of outputs.

import { counted } from '../text/format.js';

/** Shared, because creating one is slow and line counts change with every frame. */
const numbers = new Intl.NumberFormat('en');
/** @param {number} n */
const number = (n) => numbers.format(n);

export const OUTPUT_WORDS = Object.freeze({
    keep: 'Keep in view',
    copyOutput: 'Copy output',
    copied: 'Output copied.',
    copyReady: 'Copy this output',
    copyImage: 'Copy image',
    saveImage: 'Save image',
    tools: 'Output actions',
    // Images
    enlarge: 'Show image at full size',
    resize: 'Image width; arrow keys resize, Home resets',
    // Folding
    fold: 'Collapse output',
    unfold: 'Expand output',
    folded: (/** @type {string} */ what) => `Output collapsed: ${what}`,
    lines: (/** @type {number} */ n) => (n === 1 ? 'one line' : `${number(n)} lines`),
    others: (/** @type {number} */ n) => (n === 1 ? 'one rich output' : `${n} rich outputs`),
    error: 'an error',
    silent: 'no output',
    showAllLines: (/** @type {string} */ lines) => `Show all ${lines}`,
    showLess: 'Show less',
    follow: 'Follow',
    followHint: 'Scroll along with the running cell',
    errors: 'Standard error',
    printed: 'Standard output',
    // Errors
    frames: (/** @type {import('../text/traceback.js').Hidden} */ one, /** @type {boolean} */ isLast) =>
        counted(one.steps, one.isLibrary ? 'library frame' : 'more frame') +
        (isLast && one.isLibrary ? `, last ${one.hidden.findLast(({ isFrame }) => isFrame)?.library}` : ''),
    toLine: (/** @type {number} */ cell, /** @type {number} */ line) => `Cell ${cell}, line ${line}`,
    toOwnLine: (/** @type {number} */ line) => `This cell, line ${line}`,
    goToLine: 'Go to this line',
    // Data
    items: (/** @type {number} */ n) => (n === 1 ? '1 item' : `${number(n)} items`),
    keys: (/** @type {number} */ n) => (n === 1 ? '1 key' : `${number(n)} keys`),
    more: (/** @type {number} */ n) => `Show ${number(n)} more`,
    tree: 'JSON',
    save: (/** @type {string} */ mime, /** @type {string} */ size) => `Save as a file (${mime}, ${size})`,
    // Widgets
    widget: {
        past: 'This widget is not live, because a cell has run after this state. To use it, go to the last cell or run its cell again.',
        unloaded:
            'This widget is not live, because its state is not in memory. To use it, run its cell again.',
        gone: 'This widget is not live, because its process has ended. To use it, run its cell again.',
        failed: 'This widget is not live, because its cell failed. To use it, run the cell again.',
        view: 'You can see this widget, but not use it: your link is view-only.',
    },
    widgetText:
        'The data of this widget is not in this notebook, so only its text is shown. Run its cell to use it.',
    widgetBusy: 'The code of this widget is running.',
    widgetStop: 'Interrupt',
    widgetTooMuch: 'A widget sent more than its process can take. Try again when its code has run.',
    widgetNotLoaded: 'The code of widgets could not be loaded. Check the connection, then reload the page.',
    imported: 'Output of the imported file; the cell has not run here',
    // Libraries
    noNetwork: (/** @type {string} */ url) =>
        `Not loaded: ${url}. Outputs have no network access and can load scripts only from your Python ` +
        `packages.`,
    missing: (/** @type {string} */ what, /** @type {string} */ install) =>
        `This plot needs ${what}, which is not installed in this Python environment. Run %pip install ` +
        `${install}, then show the plot again.`,
    // Of an imported file
    held: 'Show original output',
    heldHint:
        'Runs the scripts in all outputs of this file, in frames without access to this page or the network.',
});
