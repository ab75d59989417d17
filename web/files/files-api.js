// @ts-check
// The HTTP requests about the files in the directory in which cells run.

import { WORDS } from '../shell/words.js';
import { jsonRequest, serverPath } from '../shell/server-path.js';

/**
 * @typedef {object} FileEntry
 * @property {string} name
 * @property {'folder' | 'file' | 'notebook' | 'link' | 'other'} kind
 * @property {number | null} bytes
 * @property {number} modified milliseconds since the Unix epoch
 */
/**
 * @typedef {{directory: string, entries: FileEntry[], more: number, may_write: boolean}} Folder
 *   `may_write`: whether the user may change files
 */
/**
 * @typedef {object} DeletedFile
 * @property {string} id
 * @property {string} path
 * @property {FileEntry['kind']} kind
 * @property {number | null} bytes
 * @property {number} at milliseconds since the Unix epoch
 */

/** Thrown if the server refuses a request. The message is a sentence for the user. */
export class FileRefusal extends Error {
    /** @param {{code: string, what: string, why: string, how: string}} problem */
    constructor(problem) {
        super(WORDS.refused(problem));
        this.code = problem.code;
    }
}

/** @param {string} path */
const encoded = (path) => path.split('/').map(encodeURIComponent).join('/');

/** @param {string} path @param {RequestInit} [options] */
async function ask(path, options) {
    const answer = await fetch(serverPath(path), options);
    if (answer.status === 204) return null;
    const told = await answer.json();
    if (!answer.ok) throw new FileRefusal(told.error);
    return told;
}

/** @param {string} folder '' for the directory itself @returns {Promise<Folder>} */
export const listFolder = (folder) => ask(folder ? `/api/folders/${encoded(folder)}` : '/api/folders');

/** @param {string} folder */
export const makeFolder = (folder) => ask(`/api/folders/${encoded(folder)}`, jsonRequest({}));

/** @param {string} from @param {string} to */
export const renameFile = (from, to) => ask(`/api/files/${encoded(from)}`, jsonRequest({ to }));

/**
 * Moves a file into the trash.
 * @param {string} path
 * @returns {Promise<string>} the deletion's id
 */
export const removeFile = async (path) => (await ask(`/api/files/${encoded(path)}`, { method: 'DELETE' })).id;

/** @returns {Promise<DeletedFile[]>} newest first */
export const listDeletedFiles = async () => (await ask('/api/deleted-files')).deleted;

/** @param {string} id @returns {Promise<string>} the path of the restored file */
export const restoreFile = async (id) =>
    (await ask(`/api/deleted-files/${encodeURIComponent(id)}/restore`, jsonRequest({}))).path;

/** @param {string} id */
export const purgeFile = (id) => ask(`/api/deleted-files/${encodeURIComponent(id)}`, { method: 'DELETE' });

/** @param {string} notebook @param {File} file @returns {Promise<string>} the attachment's name */
export async function attachPicture(notebook, file) {
    const path = `/api/notebooks/${encodeURIComponent(notebook)}/attachments`;
    const options = {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: file,
    };
    return (await ask(`${path}?file=${encodeURIComponent(file.name)}`, options)).name;
}

/** The address from which the browser downloads a file. @param {string} path */
export const fileAt = (path) => serverPath(`/api/files/${encoded(path)}`);

/**
 * The beginning of a file.
 * @param {string} path
 * @param {number} most how many bytes to read
 * @returns {Promise<Uint8Array>}
 */
export async function readFile(path, most) {
    const answer = await fetch(fileAt(path));
    if (!answer.ok) throw new FileRefusal((await answer.json()).error);
    const reader = answer.body?.getReader();
    /** @type {Uint8Array[]} */
    const pieces = [];
    let length = 0;
    while (reader && length < most) {
        const { done, value } = await reader.read();
        if (done) break;
        pieces.push(value);
        length += value.length;
    }
    void reader?.cancel();
    return new Uint8Array(await new Blob(/** @type {BlobPart[]} */ (pieces)).arrayBuffer()).slice(0, most);
}

/**
 * Uploads a file. `fetch` cannot report progress, so this is an XMLHttpRequest.
 * @param {string} path
 * @param {Blob} file
 * @param {boolean} replaces
 * @param {(sent: number) => void} onProgress
 * @returns {{done: Promise<void>, abort: () => void}} `done` rejects with a `FileRefusal`, with
 *   null after `abort`, and with an Error if the connection failed
 */
export function uploadFile(path, file, replaces, onProgress) {
    const request = new XMLHttpRequest();
    const done = new Promise((resolve, reject) => {
        request.open('PUT', `${fileAt(path)}${replaces ? '?replace=true' : ''}`);
        request.setRequestHeader('content-type', 'application/octet-stream');
        request.upload.addEventListener('progress', ({ loaded }) => onProgress(loaded));
        request.addEventListener('load', () => {
            if (request.status < 300) return resolve(undefined);
            return reject(refusalIn(request.responseText));
        });
        request.addEventListener('error', () => reject(new Error('no answer')));
        request.addEventListener('abort', () => reject(null));
        request.send(file);
    });
    return { done, abort: () => request.abort() };
}

/** @param {string} text */
function refusalIn(text) {
    try {
        return new FileRefusal(JSON.parse(text).error);
    } catch {
        return new Error('no answer');
    }
}
