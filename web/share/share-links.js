// @ts-check
// HTTP requests about share links and about opening notebooks.

import { WORDS } from '../shell/words.js';
import { jsonRequest, serverPath } from '../shell/server-path.js';

/**
 * Creates a link to a state.
 * @param {string} notebook
 * @param {{scope: 'view' | 'run', state: string, lasts: number | null, note: string | null,
 *   origin: string}} wish `lasts`: seconds until the link expires; null: never; `origin`: see
 *   reach.js
 * @returns {Promise<string>}
 */
export async function makeLink(notebook, { scope, state, lasts, note, origin }) {
    const wish = jsonRequest({
        scope,
        notebook,
        ...(lasts !== null && { expires_in: lasts }),
        ...(note !== null && { label: note }),
    });
    const answer = await fetch(serverPath('/api/links'), wish);
    if (!answer.ok) throw new Error(`${answer.status}`);
    const { token } = await answer.json();
    const url = new URL(serverPath(`/n/${encodeURIComponent(notebook)}`), origin);
    url.searchParams.set('token', token);
    url.hash = state;
    return url.href;
}

/**
 * @typedef {{id: string, scope: 'view' | 'run', notebook: string, label: string | null,
 *   created_at: number, expires_at: number | null, last_used: number | null}} Link
 */

/**
 * The valid links to a notebook, and where the server listens.
 * @param {string} notebook
 * @returns {Promise<{links: Link[], listens: import('./reach.js').Listens}>}
 */
export async function linksTo(notebook) {
    const answer = await fetch(serverPath('/api/links'));
    if (!answer.ok) throw new Error(`${answer.status}`);
    const { links, listens } = await answer.json();
    return { links: links.filter((/** @type {Link} */ link) => link.notebook === notebook), listens };
}

/** Revokes a link and disconnects its users. @param {string} id */
export async function takeBack(id) {
    const answer = await fetch(serverPath(`/api/links/${encodeURIComponent(id)}`), { method: 'DELETE' });
    // A link that no longer exists counts as revoked.
    if (!answer.ok && answer.status !== 404) throw new Error(`${answer.status}`);
}

/** Whether this browser may create notebooks and links. */
export async function isOwner() {
    const answer = await fetch(serverPath('/api/links'));
    return answer.ok;
}

/**
 * Opens a notebook; creates it if there is none of this name.
 * @param {string} name
 * @returns {Promise<{path: string, why: ''} | {path: null, why: string}>} `why`: the refusal
 */
export async function openNotebook(name) {
    const answer = await fetch(serverPath('/api/notebooks'), jsonRequest({ name }));
    const told = await answer.json();
    if (!answer.ok) return { path: null, why: WORDS.refused(told.error ?? told) };
    return { path: serverPath(`/n/${encodeURIComponent(told.name)}`), why: '' };
}
