// @ts-check
// The HTTP request about the trash of a notebook.

import { serverPath } from '../shell/server-path.js';

/**
 * @typedef {object} DeletionItem what one command deleted
 * @property {number} at in milliseconds since the Unix epoch
 * @property {{id: string, label: string | null, code: string}[]} states
 * @property {{exec_id: string, code: string}[]} runs
 */

/**
 * The deleted states and failed attempts, newest first.
 * @param {string} notebook
 * @returns {Promise<DeletionItem[]>}
 */
export async function listDeleted(notebook) {
    const answer = await fetch(serverPath(`/api/notebooks/${encodeURIComponent(notebook)}/trash`));
    if (!answer.ok) throw new Error(`${answer.status}`);
    return (await answer.json()).deleted;
}
