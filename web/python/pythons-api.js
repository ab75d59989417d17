// @ts-check
// The HTTP requests about Pythons.

import { PYTHON_WORDS } from './python-words.js';
import { WORDS } from '../shell/words.js';
import { jsonRequest, serverPath } from '../shell/server-path.js';

/**
 * @typedef {object} Found A Python of the machine.
 * @property {string} path
 * @property {string | null} version null if it does not start
 * @property {string} place where it was found
 * @property {boolean} is_default
 * @property {string | null} problem why it cannot run cells
 */

/** The Pythons of the machine, the default first. @returns {Promise<Found[]>} */
export async function listPythons() {
    const answer = await fetch(serverPath('/api/pythons'));
    if (!answer.ok) throw new Error(`${answer.status}`);
    return (await answer.json()).pythons;
}

/**
 * Restarts a notebook in the Python at a path; null: in the server's default.
 * @param {string} notebook
 * @param {string | null} path
 * @returns {Promise<{version: string, why: ''} | {version: null, why: string}>} `why`: the refusal
 */
export async function choosePython(notebook, path) {
    try {
        const place = serverPath(`/api/notebooks/${encodeURIComponent(notebook)}/python`);
        const answer = await fetch(place, jsonRequest({ path }, 'PUT'));
        const told = await answer.json();
        if (!answer.ok) return { version: null, why: WORDS.refused(told.error) };
        return { version: told.version, why: '' };
    } catch {
        return { version: null, why: PYTHON_WORDS.failed };
    }
}
