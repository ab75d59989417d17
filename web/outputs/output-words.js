// @ts-check
// What the page says about outputs.

/** Made once: it is slow to make, and numbers of lines change with every picture. */
const numbers = new Intl.NumberFormat('en');
/** @param {number} n */
const number = (n) => numbers.format(n);

export const OUTPUT_WORDS = Object.freeze({
    copy: 'Copy',
    copyOutput: 'Copy output',
    copied: 'Output copied.',
    copiedImage: 'Image copied.',
    copyReady: 'Copy this output',
    copyImage: 'Copy image',
    saveImage: 'Save image',
    notCopied: 'The browser does not let this page copy the image. Save it instead.',
    tools: 'What to do with this output',
    // Images
    enlarge: 'Show the image in full size',
    resize: 'Width of the image; arrow keys change it, Home gives back its own',
    fullSize: 'Image in full size',
    close: 'Close',
    // Folding
    fold: 'Fold the output',
    unfold: 'Show the output',
    folded: (/** @type {string} */ what) => `Output folded: ${what}`,
    lines: (/** @type {number} */ n) => (n === 1 ? 'one line' : `${number(n)} lines`),
    others: (/** @type {number} */ n) => (n === 1 ? 'one display' : `${n} displays`),
    error: 'an error',
    showAllLines: (/** @type {string} */ lines) => `Show all ${lines}`,
    showLess: 'Show less',
    follow: 'Follow',
    followHint: 'Keep the end of the running cell in sight',
    errors: 'Standard error',
    printed: 'Printed text',
    // Errors
    allFrames: (/** @type {number} */ n) => `Show all ${n} frames`,
    toLine: (/** @type {number} */ cell, /** @type {number} */ line) => `Cell ${cell}, line ${line}`,
    toOwnLine: (/** @type {number} */ line) => `This cell, line ${line}`,
    goToLine: 'Go to this line',
    // Data
    items: (/** @type {number} */ n) => (n === 1 ? '1 item' : `${number(n)} items`),
    keys: (/** @type {number} */ n) => (n === 1 ? '1 key' : `${number(n)} keys`),
    more: (/** @type {number} */ n) => `Show ${number(n)} more`,
    tree: 'JSON',
    save: (/** @type {string} */ mime, /** @type {string} */ size) => `Save as a file (${mime}, ${size})`,
    widget: 'Interactive widgets are not supported; this is its last state.',
    imported: 'From the file; not run here',
    // Libraries
    noNetwork: (/** @type {string} */ url) =>
        `Not loaded: ${url}. Outputs have no network; they show what they bring along, or what your own packages have.`,
    missing: (/** @type {string} */ what, /** @type {string} */ install) =>
        `This plot is drawn by ${what}, which is not in this Python environment, and nothing is loaded from a network. To see it, run %pip install ${install} and show it again.`,
});
