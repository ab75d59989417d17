// @ts-check
// The texts about whole notebooks and their files in the notebook page, which the home page shares.

export const NOTEBOOK_WORDS = Object.freeze({
    homeCommand: 'All notebooks, or a new notebook',
    importing: (/** @type {string} */ name) => `Importing ${name}…`,
    imported: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `Imported “${names[0]}”.`
            : `Imported ${names.length} notebooks: ${names.join(', ')}.`,
    leftOut: (/** @type {string[]} */ what) => `Not imported: ${what.join('; ')}.`,
    tooLarge: (/** @type {string} */ name) => `“${name}” was not imported: it is larger than 64 MB.`,
    openIt: (/** @type {number} */ n) => (n === 1 ? 'Open' : 'All notebooks'),
    failed: 'The server does not answer. Is Ratoon still running?',
    duplicate: 'Duplicate',
    copyOf: (/** @type {string} */ name) => `${name} copy`,
    duplicating: (/** @type {string} */ name) => `Duplicating “${name}”…`,
    duplicated: (/** @type {string} */ to) =>
        `Duplicated as “${to}”, with all states, outputs and drafts. Share links and saved task results ` +
        'were not copied.',
    // Texts in a notebook page
    renameThis: 'Rename notebook…',
    duplicateThis: 'Duplicate notebook',
    alsoDuplicate: 'copy save as',
    download: (/** @type {string} */ format) => `Download as ${format}`,
    downloadAll: 'Download all branches as HTML',
});
