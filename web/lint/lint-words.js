// @ts-check
// The texts of syntax errors, ruff's diagnostics, and formatting.

/** @param {number} n @param {string} one */
const count = (n, one) => `${n} ${one}${n === 1 ? '' : 's'}`;

export const LINT_WORDS = Object.freeze({
    format: 'Format cell',
    formatAll: 'Format all drafts',
    problems: 'Show the problems of the cell',
    next: 'Go to the next problem',
    before: 'Go to the previous problem',
    alsoFormat: 'ruff black pretty indent style beautify',
    alsoProblems: 'errors warnings diagnostics lint ruff syntax',
    syntax: 'Python',
    ruff: (/** @type {string} */ rule) => `ruff ${rule}`,
    ruffFailed: (/** @type {string} */ why) => `Ruff cannot check the code: ${why}.`,
    notFormatted: (/** @type {string} */ why) => `The cell was not formatted: ${why}.`,
    someNotFormatted: (/** @type {number} */ n, /** @type {string} */ why) =>
        `${count(n, 'cell')} could not be formatted: ${why}.`,
    ruffMissing:
        'Ruff is not installed. It can be installed for Ratoon alone: some 12 MB from your package index, ' +
        'and no environment changes.',
    installRuff: 'Install ruff',
    installing: 'Installing ruff…',
    ruffInstalled: 'Ruff is installed.',
    allFormatted: 'All drafts are formatted already.',
    noAnswer: 'The server did not answer. Nothing was formatted.',
});
