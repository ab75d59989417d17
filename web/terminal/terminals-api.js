// @ts-check
// Requests about terminals.

import { jsonRequest, serverPath } from '../shell/server-path.js';
import { TERMINAL_WORDS as WORDS } from './terminal-words.js';

/** The numbers of the open terminals. @returns {Promise<number[]>} */
export async function listTerminals() {
    const { terminals } = await answerTo(fetch(serverPath('/api/terminals')));
    return terminals.map((/** @type {{id: number}} */ { id }) => id);
}

/** Opens a terminal. @returns {Promise<number>} its number */
export async function openTerminal() {
    return (await answerTo(fetch(serverPath('/api/terminals'), jsonRequest({})))).id;
}

/** Shows a new terminal in a tab of its own. */
export const showTerminal = () => void window.open(serverPath('/terminal'));

/** @param {number} id */
export async function closeTerminal(id) {
    await fetch(serverPath(`/api/terminals/${id}`), { method: 'DELETE' });
}

/** Connects to a terminal. @param {number} id */
export function connectTo(id) {
    const url = new URL(serverPath(`/terminals/${id}`), location.href);
    url.protocol = url.protocol.replace('http', 'ws');
    const socket = new WebSocket(url);
    socket.binaryType = 'arraybuffer';
    return socket;
}

/**
 * @param {Promise<Response>} request
 * @returns {Promise<any>} the answer; throws an error with a text for the user
 */
async function answerTo(request) {
    const answer = await request.catch(() => null);
    if (!answer) throw new Error(WORDS.failed);
    const told = await answer.json().catch(() => null);
    if (!answer.ok) throw new Error(told?.error?.why ?? WORDS.failed);
    return told;
}
