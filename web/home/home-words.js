// @ts-check
// What the list of notebooks says, and what the page says about files.

/** @param {number} n @param {string} one */
const count = (n, one) => (n === 1 ? `1 ${one}` : `${n} ${one}s`);

export const HOME_WORDS = Object.freeze({
    home: 'All notebooks',
    homeCommand: 'All notebooks, or a new notebook',
    title: 'Notebooks',
    make: 'New notebook',
    importFile: 'Import…',
    importHint: 'Drop an .ipynb or .py anywhere on this page to import it.',
    drop: 'Drop to import',
    dropHint: 'Each .ipynb or .py becomes a new notebook. Nothing in it runs.',
    list: 'Notebooks in this directory',
    none: 'No notebook yet',
    noneHint: 'Make one, or drop an .ipynb or .py here.',
    noneForGuests: 'Ask whoever gave you the link for one that is still good.',
    states: (/** @type {number | null} */ n) => (n === null ? '' : n === 0 ? 'no states' : count(n, 'state')),
    never: 'never used',
    isOpen: 'open',
    running: (/** @type {number} */ n) => `${n} running`,
    menu: (/** @type {string} */ name) => `What to do with ${name}`,
    rename: 'Rename…',
    duplicate: 'Duplicate…',
    remove: 'Delete…',
    startHint: 'Ratoon was started with it.',
    startWhy: (/** @type {string} */ name) =>
        `Ratoon was started with “${name}”, so it keeps its name and stays as long as Ratoon runs. You can duplicate it, or start Ratoon with another notebook.`,
    makeAsk: 'New notebook',
    makeWhy: 'Its name is also the name of its directory.',
    makeDo: 'Create',
    renameAsk: (/** @type {string} */ name) => `Rename “${name}”`,
    renameWhy: (/** @type {boolean} */ isOpen, /** @type {number} */ running) =>
        `Its share links go on to work.${isOpen ? ' It is closed for a moment, and open pages of it are told its new name.' : ''}${stops(running)}`,
    renameDo: 'Rename',
    duplicateAsk: (/** @type {string} */ name) => `Duplicate “${name}”`,
    duplicateWhy:
        'The copy has all states, outputs and drafts, but no share links and nothing that tasks keep. What runs goes on.',
    duplicateDo: 'Duplicate',
    copyOf: (/** @type {string} */ name) => `${name} copy`,
    removeAsk: (/** @type {string} */ name) => `Delete “${name}”?`,
    removeWhy: (
        /** @type {number | null} */ states,
        /** @type {string} */ size,
        /** @type {number} */ running,
    ) =>
        `${states ? `Its ${count(states, 'state')} with their` : 'Its'} code, outputs and drafts, and its checkpoints, ${size} in all, go into the trash, from where they can be restored for 30 days. Its share links end.${stops(running)}`,
    removeDo: 'Delete notebook',
    importing: (/** @type {string} */ name) => `Importing ${name}…`,
    imported: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `“${names[0]}” is there.`
            : `${names.length} notebooks are there: ${names.join(', ')}.`,
    leftOut: (/** @type {string[]} */ what) => `Left out: ${what.join('; ')}.`,
    notAFile: (/** @type {string} */ name) =>
        `“${name}” is neither an .ipynb nor a .py, and was not imported.`,
    tooLarge: (/** @type {string} */ name) => `“${name}” has more than 64 MB and was not imported.`,
    renamed: (/** @type {string} */ to) => `It is called “${to}” now.`,
    duplicated: (/** @type {string} */ to) => `The copy is called “${to}”.`,
    removed: (/** @type {string} */ name) => `“${name}” is in the trash.`,
    // Trash
    trash: (/** @type {number} */ n) => `Trash (${n})`,
    trashHint: 'What was deleted or forgotten stays here for 30 days; of each notebook, the last four.',
    trashList: 'Notebooks in the trash',
    trashed: (/** @type {'deleted' | 'reset'} */ why, /** @type {string} */ when) =>
        `${why === 'reset' ? 'forgotten' : 'deleted'} ${when}`,
    restore: 'Restore',
    restoreOf: (/** @type {string} */ name) => `Restore “${name}”`,
    restored: (/** @type {string} */ was, /** @type {string} */ name) =>
        was === name ? `“${name}” is there again.` : `It is there again as “${name}”.`,
    purge: 'Delete for good…',
    purgeAsk: (/** @type {string} */ name) => `Delete “${name}” for good?`,
    purgeWhy: (/** @type {number | null} */ states, /** @type {string} */ size) =>
        `${states ? `${count(states, 'state')}, ` : ''}${size}. It cannot be restored then.`,
    purgeDo: 'Delete for good',
    purged: (/** @type {string} */ name) => `“${name}” was deleted for good.`,
    // Dropped on a notebook
    dropHintHere: 'An .ipynb or .py becomes a notebook of its own. Nothing is put into this one.',
    dropped: (/** @type {string[]} */ names) =>
        names.length === 1
            ? `“${names[0]}” can become a notebook of its own. Nothing in it runs.`
            : `${names.length} files can become notebooks of their own. Nothing in them runs.`,
    importIt: (/** @type {number} */ n) => (n === 1 ? 'Import it' : 'Import them'),
    openIt: (/** @type {number} */ n) => (n === 1 ? 'Open it' : 'All notebooks'),
    droppedByGuest: (/** @type {string} */ name) => `“${name}” was not imported: only the owner can do that.`,
    droppedOther: (/** @type {string[]} */ names) =>
        `${names.length === 1 ? `“${names[0]}” was` : `${names.length} files were`} not put into the notebook. To use a file in a cell, copy it into the directory where Ratoon runs and open it by its name.`,
    failed: 'That did not work: the server does not answer. Is Ratoon still running?',
    // In a notebook
    download: (/** @type {string} */ format) => `Download as ${format}`,
    held: 'Show as it was',
    heldHint: 'Scripts of this file run then, in frames that reach neither this page nor the network.',
    left: (/** @type {string | null} */ to) =>
        to ? `This notebook was renamed to “${to}”.` : 'This notebook was renamed or deleted.',
    leftHint: 'What you see can still be copied.',
    leftGo: (/** @type {string} */ to) => `Open “${to}”`,
});

/** @param {number} n */
function stops(n) {
    if (!n) return '';
    return n === 1
        ? ' One cell is running and will be stopped.'
        : ` ${n} cells are running and will be stopped.`;
}
