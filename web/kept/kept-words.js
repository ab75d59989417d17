// @ts-check
// The texts of the pane with the kept outputs.

export const KEPT_WORDS = Object.freeze({
    title: 'Kept outputs',
    resize: 'Width of the kept outputs',
    said: (/** @type {string} */ name) => `Kept in view beside the notebook: ${name}`,
    goTo: 'Go to the cell',
    hold: 'Hold',
    holdHint: 'Keep this output when the cell runs again, to compare the two',
    stop: 'Stop keeping in view',
    none: 'No output yet',
    deleted: 'Deleted',
    gone: 'This output was deleted.',
    status: Object.freeze({ '': '', queued: 'waiting', running: 'running', failed: 'failed' }),
    stale: { text: 'Stale', hint: 'From an earlier version of the cell or of a cell above it' },
    elsewhere: { text: 'Other branch', hint: 'The branch on the page does not have this output' },
});
