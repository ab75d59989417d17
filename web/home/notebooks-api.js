// @ts-check
// The HTTP requests about whole notebooks: list, rename, duplicate, delete, import and trash.

import { WORDS } from '../shell/words.js';
import { NOTEBOOK_WORDS } from './notebook-words.js';
import { jsonRequest, serverPath } from '../shell/server-path.js';

/**
 * @typedef {object} About
 * @property {string} name
 * @property {number | null} states the number of states; null if currently unknown
 * @property {number} bytes on disk
 * @property {number | null} last_used milliseconds since the Unix epoch
 * @property {boolean} is_open
 * @property {number} running
 * @property {boolean} is_start whether Ratoon was started with this notebook
 */

/** The maximum size of a file that can be imported, in bytes. */
export const MAX_FILE_BYTES = 64 * 1024 * 1024;

const at = (/** @type {string} */ name, more = '') =>
    serverPath(`/api/notebooks/${encodeURIComponent(name)}${more}`);

/**
 * Sends a request and returns the JSON of the response, or null if there is none. Throws a
 * `Refusal` if the server refuses the request.
 * @param {string} path
 * @param {RequestInit} [options]
 */
async function ask(path, options) {
    const answer = await fetch(path, options);
    if (answer.status === 204) return null;
    const told = await answer.json();
    if (!answer.ok) throw new Refusal(WORDS.refused(told.error));
    return told;
}

/** Thrown if the server refuses a request. The message is a sentence for the user. */
export class Refusal extends Error {}

/** The notebooks, most recently used first. @returns {Promise<About[]>} */
export async function list() {
    const { about } = await ask(serverPath('/api/notebooks'));
    return about.sort(
        (/** @type {About} */ a, /** @type {About} */ b) =>
            (b.last_used ?? 0) - (a.last_used ?? 0) || a.name.localeCompare(b.name),
    );
}

/**
 * @param {string} name
 * @param {string} to
 * @param {boolean} stop whether the server may stop running cells
 */
export const rename = (name, to, stop) => ask(at(name, '/rename'), jsonRequest({ to, stop }));

/**
 * Copies a notebook under a free name.
 * @param {string} name
 * @returns {Promise<string>} the name of the copy
 */
export async function duplicate(name) {
    const taken = (await list()).map((one) => one.name);
    const to = freeName(`${NOTEBOOK_WORDS.copyOf(name)}.`, taken);
    await ask(at(name, '/duplicate'), jsonRequest({ to }));
    return to;
}

/** @param {string} name @param {boolean} stop whether the server may stop running cells */
export const remove = (name, stop) => ask(at(name, stop ? '?stop=true' : ''), { method: 'DELETE' });

/**
 * Creates a notebook from a file.
 * @param {File} file
 * @param {string} name
 * @returns {Promise<{name: string, left_out: string[]}>}
 */
export function importFile(file, name) {
    const type = file.name.toLowerCase().endsWith('.py') ? 'text/x-python' : 'application/json';
    return ask(serverPath(`/api/notebooks/import?name=${encodeURIComponent(name)}`), {
        method: 'POST',
        headers: { 'content-type': type },
        body: file,
    });
}

/** Whether a file with this name can be imported as a notebook. @param {string} name */
export const isNotebookFile = (name) => /\.(ipynb|py)$/i.test(name);

/**
 * Creates a notebook with a free name from each file.
 * @param {File[]} files
 * @param {(file: File) => void} begun called before each import
 * @returns {Promise<{made: string[], leftOut: string[]}>} the names of the notebooks, and texts
 *   about the parts of the files that were not imported
 */
export async function importFiles(files, begun) {
    const taken = (await list()).map(({ name }) => name);
    /** @type {string[]} */
    const made = [];
    /** @type {string[]} */
    const leftOut = [];
    for (const file of files) {
        begun(file);
        const { name, left_out } = await importFile(file, freeName(file.name, [...taken, ...made]));
        made.push(name);
        leftOut.push(...left_out);
    }
    return { made, leftOut };
}

/**
 * @typedef {object} Trashed
 * @property {string} id
 * @property {string} name the notebook's name before the deletion
 * @property {'deleted' | 'reset'} why
 * @property {number} at milliseconds since the Unix epoch
 * @property {number | null} states
 * @property {number} bytes
 */

/** The trash, newest first. @returns {Promise<Trashed[]>} */
export const listTrash = async () => (await ask(serverPath('/api/trash'))).trash;

/**
 * Restores a notebook from the trash.
 * @param {string} id
 * @returns {Promise<string>} the name of the restored notebook
 */
export const restore = async (id) =>
    (await ask(serverPath(`/api/trash/${encodeURIComponent(id)}/restore`), jsonRequest({}))).name;

/** Deletes a notebook in the trash permanently. @param {string} id */
export const purge = (id) => ask(serverPath(`/api/trash/${encodeURIComponent(id)}`), { method: 'DELETE' });

/** The address of a notebook. @param {string} name */
export const notebookAt = (name) => serverPath(`/n/${encodeURIComponent(name)}`);

/**
 * The address from which the browser downloads the lineage of a state as a file.
 * @param {string} name
 * @param {string} state
 * @param {'ipynb' | 'py' | 'html'} format
 */
export const documentAt = (name, state, format) =>
    at(name, `/states/${encodeURIComponent(state)}/document?as=${format}`);

/**
 * Where all branches of a notebook can be downloaded as one page.
 * @param {string} name
 * @param {string} state the state whose line the page shows at first
 */
export const branchesAt = (name, state) => `${documentAt(name, state, 'html')}&branches=all`;

/**
 * A free name for a notebook that is created from a file.
 * @param {string} file the name of the file
 * @param {string[]} taken the names of the existing notebooks
 */
export function freeName(file, taken) {
    const letters = file
        .replace(/\.[^.]*$/, '')
        .normalize('NFC')
        .replace(/[^\p{L}\p{N}\-_. ]+/gu, ' ')
        .replace(/\s+/g, ' ');
    const name =
        letters
            .replace(/^[. ]+/, '')
            .slice(0, 60)
            .trim() || 'notebook';
    for (let n = 1; ; n += 1) {
        const free = n === 1 ? name : `${name} ${n}`;
        if (!taken.includes(free)) return free;
    }
}
