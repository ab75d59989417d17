// @ts-check
// The texts of the home page. notebook-words.js has those that it shares with the notebook page.

/** @param {number} n @param {string} one */
const count = (n, one) => (n === 1 ? `1 ${one}` : `${n} ${one}s`);

export const HOME_WORDS = Object.freeze({
    title: 'Notebooks',
    make: 'New notebook',
    importFile: 'Import…',
    importHint: 'To import an .ipynb or .py file, drop it anywhere on this page.',
    drop: 'Drop to import',
    dropHint: 'Each .ipynb or .py file becomes a new notebook. No code runs.',
    list: 'Notebooks in this directory',
    none: 'No notebooks yet',
    noneHint: 'Create one, or drop an .ipynb or .py file here.',
    noneForGuests: 'Ask the sender of your link for a new link.',
    states: (/** @type {number | null} */ n) => (n === null ? '' : n === 0 ? 'no states' : count(n, 'state')),
    never: 'never used',
    isOpen: 'open',
    running: (/** @type {number} */ n) => `${n} running`,
    menu: (/** @type {string} */ name) => `Actions for ${name}`,
    rename: 'Rename…',
    remove: 'Delete…',
    startHint: 'Ratoon was started with this notebook.',
    startWhy: (/** @type {string} */ name) =>
        `Ratoon was started with “${name}”. While Ratoon runs, this notebook cannot be renamed or ` +
        `deleted. You can duplicate it, or start Ratoon with another notebook.`,
    makeAsk: 'New notebook',
    makeWhy: 'The directory of the notebook gets the same name.',
    makeDo: 'Create',
    renameAsk: (/** @type {string} */ name) => `Rename “${name}”`,
    renameWhy: (/** @type {string} */ closing, /** @type {number} */ running) =>
        `The share links of this notebook keep working.${closing}${stops(running)}`,
    closes: ' The notebook closes briefly; open pages show the new name.',
    lost: (/** @type {string[] | undefined} */ names) => {
        if (!names) return ' Variables that cannot be saved, such as open files and generators, are lost.';
        const [more, are] = [names.length - 3, names.length > 1 ? 'are' : 'is'];
        const listed = `${names.slice(0, 3).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
        return names.length > 0 ? ` ${listed} cannot be saved and ${are} lost.` : '';
    },
    renameDo: 'Rename',
    removeAsk: (/** @type {string} */ name) => `Delete “${name}”?`,
    removeWhy: (
        /** @type {number | null} */ states,
        /** @type {string} */ size,
        /** @type {number} */ running,
    ) =>
        `${states ? `Its ${count(states, 'state')} with their` : 'Its'} code, outputs, drafts and ` +
        `checkpoints (${size} in all) go to the trash and can be restored for 30 days. Its share ` +
        `links stop working.${stops(running)}`,
    removeDo: 'Delete notebook',
    notAFile: (/** @type {string} */ name) => `“${name}” was not imported: it is not an .ipynb or .py file.`,
    renamed: (/** @type {string} */ to) => `Renamed to “${to}”.`,
    removed: (/** @type {string} */ name) => `Moved “${name}” to the trash.`,
    // Trash
    trash: (/** @type {number} */ n) => `Trash (${n})`,
    trashHint: 'Deleted and reset notebooks are kept for 30 days, at most four copies of each.',
    trashList: 'Notebooks in the trash',
    trashed: (/** @type {'deleted' | 'reset'} */ why, /** @type {string} */ when) =>
        `${why === 'reset' ? 'reset' : 'deleted'} ${when}`,
    restore: 'Restore',
    restoreOf: (/** @type {string} */ name) => `Restore “${name}”`,
    restored: (/** @type {string} */ was, /** @type {string} */ name) =>
        was === name ? `Restored “${name}”.` : `Restored as “${name}”.`,
    purge: 'Delete permanently…',
    purgeAsk: (/** @type {string} */ name) => `Delete “${name}” permanently?`,
    purgeWhy: (/** @type {number | null} */ states, /** @type {string} */ size) =>
        `${states ? `${count(states, 'state')}, ` : ''}${size}. This cannot be undone.`,
    purgeDo: 'Delete permanently',
    purged: (/** @type {string} */ name) => `Deleted “${name}” permanently.`,
});

/** @param {number} n */
function stops(n) {
    if (!n) return '';
    return n === 1 ? ' One running cell will be stopped.' : ` ${n} running cells will be stopped.`;
}
