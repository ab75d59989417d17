// @ts-check
// Texts about files that were dropped on the notebook.

export const DROPPED_WORDS = Object.freeze({
    dropped: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `Import “${names[0]}” as a new notebook? No code runs.`
            : `Import ${names.length} files as new notebooks? No code runs.`,
    importIt: (/** @type {number} */ n) => (n === 1 ? 'Import' : 'Import all'),
    droppedByGuest: (/** @type {string[]} */ names) =>
        `${names.length === 1 ? `“${names[0]}” was` : `${names.length} files were`} not imported or ` +
        `uploaded: this link only shows the notebook.`,
    droppedOther: (/** @type {string[]} */ names) =>
        `Upload ${names.length === 1 ? `“${names[0]}”` : `${names.length} files`}? Cells then open ` +
        `${names.length === 1 ? 'it' : 'them'} by name.`,
    droppedFolder: (/** @type {string} */ name) =>
        `“${name}” is a folder. Create a folder in the files pane, and drop the files there.`,
    uploadIt: (/** @type {number} */ n) => (n === 1 ? 'Upload' : 'Upload all'),
});
