// @ts-check
// The texts about the Python of a notebook that the page shows beside the cells.

export const PYTHON_STATUS_WORDS = Object.freeze({
    unusable: 'This Python cannot run cells',
    noPython: 'No Python',
    change: 'Choose a Python…',
    otherVersion: (/** @type {string} */ by) =>
        `Python ${by} saved this state: only plain values are loaded. Replay its cells to restore the rest.`,
});
