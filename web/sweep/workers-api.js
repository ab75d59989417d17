// @ts-check
// Asks the server for its workers, and whether a cell would run there. The server compares with one
// worker, which may take a while.

import { jsonRequest, serverPath } from '../shell/server-path.js';

/**
 * @typedef {object} WorkersStatus See `GET /api/workers` in docs/api.md.
 * @property {string | null} engine null if the server has no workers
 * @property {string | null} problem why they cannot be reached
 * @property {number | null} slots
 */
/**
 * @typedef {object} WorkersCheck See `POST /api/notebooks/{name}/workers/check`.
 * @property {string[]} refusals
 * @property {string[]} warnings
 * @property {number | null} bytes_to_store
 * @property {number | null} bytes_per_node
 */

/** @returns {Promise<WorkersStatus | null>} null if the server does not say */
export async function fetchWorkers() {
    const answer = await fetch(serverPath('/api/workers')).catch(() => null);
    return answer?.ok ? answer.json() : null;
}

/**
 * @param {string} notebook
 * @param {string} at
 * @param {string} code
 * @returns {Promise<WorkersCheck | null>} null if the server does not say
 */
export async function checkWorkers(notebook, at, code) {
    const path = serverPath(`/api/notebooks/${encodeURIComponent(notebook)}/workers/check`);
    const answer = await fetch(path, jsonRequest({ at, code })).catch(() => null);
    return answer?.ok ? answer.json() : null;
}
