// @ts-check
// The HTTP request about agents.

import { AGENT_WORDS } from './agents-words.js';
import { jsonRequest, serverPath } from '../shell/server-path.js';
import { WORDS } from '../shell/words.js';

/**
 * Stops an agent, or lets it continue.
 * @param {string} notebook
 * @param {string} id the agent's id among the participants
 * @param {boolean} stopped
 * @returns {Promise<string>} the refusal; empty if there is none
 */
export async function stopAgent(notebook, id, stopped) {
    const path = `/api/notebooks/${encodeURIComponent(notebook)}/agents/${encodeURIComponent(id)}`;
    try {
        const answer = await fetch(serverPath(path), jsonRequest({ stopped }));
        return answer.ok ? '' : WORDS.refused((await answer.json()).error);
    } catch {
        return AGENT_WORDS.failed;
    }
}
