// @ts-check
// Texts about files: the pane, its dialogs, and files dropped on a notebook page.

/** @param {number} n @param {string} one */
const count = (n, one) => (n === 1 ? `1 ${one}` : `${n} ${one}s`);

export const FILES_WORDS = Object.freeze({
    title: 'Files',
    width: 'Width of the files pane',
    /** The tip of the path. @param {string} directory */
    where: (directory) => `Relative paths in cells begin in ${directory}`,
    /** How a cell opens a file of the folder. @param {string} folder the path of the folder */
    hint: (folder) => `In cells: open("${folder ? `${folder}/` : ''}…")`,
    path: 'Folder',
    list: 'Files',
    upload: 'Upload…',
    newFolder: 'New folder…',
    refresh: 'Refresh',
    name: 'Name',
    bytes: 'Size',
    modified: 'Modified',
    empty: 'This folder is empty. Drop files here, or let a cell write them.',
    loading: 'Loading…',
    unreachable: 'The server does not answer. Is Ratoon still running?',
    /** @param {number} n */
    more: (n) => `${count(n, 'more entry').replace('entrys', 'entries')} not shown`,
    /** @param {string} name */
    actions: (name) => `Actions for ${name}`,
    kinds: Object.freeze({
        folder: 'Folder',
        file: 'File',
        notebook: 'Notebook',
        link: 'Symbolic link. Links are not followed.',
        other: 'Not a file',
    }),
    thisNotebook: 'this notebook',
    elsewhere: 'A notebook in a folder. To open it, start Ratoon in that folder.',
    openFolder: 'Open',
    openNotebook: 'Open notebook',
    preview: 'Preview',
    download: 'Download',
    importIt: 'Import as notebook',
    rename: 'Rename…',
    renameAsk: (/** @type {string} */ name) => `Rename “${name}”`,
    renameWhy: 'Cells that open the file by its old name will not find it. A name with / moves it.',
    renameDo: 'Rename',
    copyPath: 'Copy path',
    pathCopied: (/** @type {string} */ path) => `Copied “${path}”.`,
    copyByHand: 'Copy this path',
    remove: 'Delete',
    removed: (/** @type {string} */ name) => `Moved “${name}” to the trash.`,
    undo: 'Undo',
    restored: (/** @type {string} */ path) => `Restored “${path}”.`,
    newFolderAsk: 'New folder',
    newFolderWhy: (/** @type {string} */ folder) =>
        folder ? `In the folder “${folder}”.` : 'In the directory where cells run.',
    newFolderDo: 'Create',
    newFolderName: 'folder',
    // Uploads
    uploads: 'Uploads',
    /** @param {string} name @param {string} done @param {string} all */
    sending: (name, done, all) => `${name}: ${done} of ${all}`,
    waiting: (/** @type {string} */ name) => `${name}: waiting`,
    writing: (/** @type {string} */ name) => `${name}: writing to disk`,
    cancel: 'Cancel',
    cancelOf: (/** @type {string} */ name) => `Cancel the upload of ${name}`,
    dismiss: 'Dismiss',
    uploaded: (/** @type {string[]} */ names, /** @type {string} */ folder) =>
        `Uploaded ${names.length === 1 ? `“${names[0]}”` : count(names.length, 'file')}` +
        `${folder ? ` to “${folder}”` : ''}.`,
    replaceAsk: (/** @type {string} */ name) => `Replace “${name}”?`,
    replaceWhy: 'There is already a file of this name. It goes to the trash and can be restored.',
    replaceDo: 'Replace',
    failed: (/** @type {string} */ name) => `“${name}” was not uploaded: the connection failed.`,
    // The dialog of one file
    noPreview: 'There is no preview for files of this type.',
    tooLarge: (/** @type {string} */ size) => `Only the first ${size} are shown.`,
    asText: 'Show as text',
    asTable: 'Show as table',
    notUtf8: 'Read as Windows-1252, because it is not UTF-8.',
    imported: (/** @type {string} */ name) => `Imported “${name}”.`,
    // Deleted files
    deleted: 'Deleted files…',
    deletedTitle: 'Deleted files',
    deletedWhy: 'Deleted and replaced files stay here for 30 days.',
    deletedNone: 'Nothing was deleted.',
    restore: 'Restore',
    restoreOf: (/** @type {string} */ path) => `Restore ${path}`,
    purge: 'Delete permanently…',
    purgeOf: (/** @type {string} */ path) => `Delete permanently… ${path}`,
    purgeAsk: (/** @type {string} */ path) => `Delete “${path}” permanently?`,
    purgeWhy: 'This cannot be undone.',
    purgeDo: 'Delete permanently',
    // Pictures in text cells
    pictureTooLarge: (/** @type {string} */ name, /** @type {string} */ most) =>
        `“${name}” was not attached: it is larger than ${most}. Upload it in the files pane, and write ` +
        `![](${name}).`,
});
