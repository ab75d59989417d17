// @ts-check
// The texts for choosing the Python of a notebook.

export const PYTHON_WORDS = Object.freeze({
    menu: (/** @type {string} */ version) => `Python ${version}…`,
    command: 'Choose the Python of this notebook',
    title: 'Python of this notebook',
    ownerOnly: 'Only the owner of this notebook can change its Python.',
    list: 'Pythons on this machine',
    searching: 'Looking for Pythons…',
    listFailed: 'The Pythons of this machine could not be listed. Enter the path of a Python instead.',
    isDefault: 'default',
    another: 'Another Python',
    path: 'Path of a Python or of its environment',
    pathHint: 'e.g. /home/me/project/.venv',
    places: Object.freeze(
        /** @type {Record<string, string>} */ ({
            'installed in': 'Ratoon is installed there',
            $PATH: 'on $PATH',
        }),
    ),
    next: 'Continue',
    close: 'Close',
    cancel: 'Cancel',
    back: 'Back',
    restart: 'Restart',
    restarting: 'Checking this Python. If IPython has to be installed, this takes up to a minute…',
    ask: (/** @type {string | null} */ version) =>
        version === null ? 'Restart in this Python?' : `Restart in Python ${version}?`,
    stays: 'All processes of this notebook end. Its cells, outputs and drafts stay.',
    whole: (/** @type {number} */ n) => `${states(n)} from ${n === 1 ? 'its checkpoint' : 'checkpoints'}.`,
    values: (/** @type {number} */ n, /** @type {string} */ by) =>
        `${states(n)} with plain values only, because Python ${by} saved ${n === 1 ? 'it' : 'them'}. ` +
        `A replay restores the rest.`,
    valuesIfOther: (/** @type {string} */ by) =>
        `If this is not Python ${by}, the states that Python ${by} saved come back with plain values only. ` +
        `A replay restores the rest.`,
    lacking: (/** @type {number} */ n) =>
        `${states(n)} without some variables that could not be saved. A replay restores these variables.`,
    untrusted: (/** @type {number} */ n) =>
        `${states(n)} with plain values only, because ${n === 1 ? 'its checkpoint is' : 'their checkpoints are'} not trusted.`,
    replay: (/** @type {number} */ n) =>
        `${states(n)} by running ${n === 1 ? 'its cells' : 'their cells'} again, unless saved before the restart.`,
    lost:
        'What only a process holds is lost: open files, connections, threads, and changes of failed cells ' +
        'that were not kept.',
    changed: (/** @type {string} */ version) => `The notebook runs in Python ${version} now.`,
    failed: 'The server did not answer. Try again once the connection is back.',
});

/** @param {number} n */
const states = (n) => (n === 1 ? 'One state comes back' : `${n} states come back`);
