// @ts-check
// The texts about whole notebooks and their files in the notebook page, which the home page shares.

export const NOTEBOOK_WORDS = Object.freeze({
    home: 'All notebooks',
    homeCommand: 'All notebooks, or a new notebook',
    importing: (/** @type {string} */ name) => `Importing ${name}…`,
    imported: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `Imported “${names[0]}”.`
            : `Imported ${names.length} notebooks: ${names.join(', ')}.`,
    leftOut: (/** @type {string[]} */ what) => `Not imported: ${what.join('; ')}.`,
    tooLarge: (/** @type {string} */ name) => `“${name}” was not imported: it is larger than 64 MB.`,
    // Files dropped on a notebook page
    dropUpload: 'Drop to upload',
    dropUploadHint: 'The files go to the folder that the files pane shows.',
    dropText: 'Drop to show in the text',
    dropTextHint: 'The picture is stored with the notebook.',
    dropFiles: 'Drop to import or upload',
    dropHintHere: 'Ratoon asks what to do with the files. This notebook does not change.',
    dropped: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `Import “${names[0]}” as a new notebook? No code runs.`
            : `Import ${names.length} files as new notebooks? No code runs.`,
    importIt: (/** @type {number} */ n) => (n === 1 ? 'Import' : 'Import all'),
    openIt: (/** @type {number} */ n) => (n === 1 ? 'Open' : 'All notebooks'),
    droppedByGuest: (/** @type {string[]} */ names) =>
        `${names.length === 1 ? `“${names[0]}” was` : `${names.length} files were`} not imported or ` +
        `uploaded: only the owner can do that.`,
    droppedOther: (/** @type {string[]} */ names) =>
        `Upload ${names.length === 1 ? `“${names[0]}”` : `${names.length} files`}? Cells then open ` +
        `${names.length === 1 ? 'it' : 'them'} by name.`,
    droppedFolder: (/** @type {string} */ name) =>
        `“${name}” is a folder. Create a folder in the files pane, and drop the files there.`,
    uploadIt: (/** @type {number} */ n) => (n === 1 ? 'Upload' : 'Upload all'),
    failed: 'The server does not answer. Is Ratoon still running?',
    // Texts in a notebook page
    download: (/** @type {string} */ format) => `Download as ${format}`,
    downloadAll: 'Download all branches as HTML',
    held: 'Show original output',
    heldHint:
        'Runs the scripts in all outputs of this file, in frames without access to this page or the network.',
    left: (/** @type {string | null} */ to) =>
        to ? `This notebook was renamed to “${to}”.` : 'This notebook was renamed or deleted.',
    leftHint: 'You can still copy what you see.',
    leftGo: (/** @type {string} */ to) => `Open “${to}”`,
});
