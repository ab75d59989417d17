// @ts-check
// Texts of outputs.

/** Shared, because creating one is slow and line counts change with every frame. */
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
    notCopied: 'The browser does not let this page copy images. Save it instead.',
    tools: 'Output actions',
    // Images
    enlarge: 'Show image at full size',
    resize: 'Image width; arrow keys resize, Home resets',
    fullSize: 'Image at full size',
    close: 'Close',
    // Folding
    fold: 'Collapse output',
    unfold: 'Expand output',
    folded: (/** @type {string} */ what) => `Output collapsed: ${what}`,
    lines: (/** @type {number} */ n) => (n === 1 ? 'one line' : `${number(n)} lines`),
    others: (/** @type {number} */ n) => (n === 1 ? 'one rich output' : `${n} rich outputs`),
    error: 'an error',
    showAllLines: (/** @type {string} */ lines) => `Show all ${lines}`,
    showLess: 'Show less',
    follow: 'Follow',
    followHint: 'Scroll along with the running cell',
    errors: 'Standard error',
    printed: 'Standard output',
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
    widget: 'Interactive widgets are not supported; this is the last state of the widget.',
    imported: 'From the imported file; not run here',
    // Libraries
    noNetwork: (/** @type {string} */ url) =>
        `Not loaded: ${url}. Outputs have no network access. They can use what they contain and what your ` +
        `Python packages provide.`,
    missing: (/** @type {string} */ what, /** @type {string} */ install) =>
        `This plot needs ${what}, which is not installed in this Python environment. Run %pip install ` +
        `${install}, then show it again.`,
});
