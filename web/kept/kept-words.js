// @ts-check
// The texts of the pane with the kept outputs.

export const KEPT_WORDS = Object.freeze({
    title: 'Kept outputs',
    resize: 'Width of the kept outputs',
    said: (/** @type {string} */ name) => `Kept in view beside the notebook: ${name}`,
    goTo: 'Go to the cell',
    stop: 'Stop keeping in view',
    none: 'No output yet',
    gone: 'This output was deleted.',
    status: Object.freeze({ '': '', queued: 'waiting', running: 'running', failed: 'failed' }),
    place: Object.freeze({ here: '', stale: 'Stale', elsewhere: 'Not on the branch shown', gone: 'Deleted' }),
});
