// @ts-check
// Scripts that outputs request by public addresses, served from the user's own Python packages.

import { PACKAGES, libraryOf } from './libraries.js';
import { OUTPUT_WORDS } from './output-words.js';
import { serverPath } from '../shell/server-path.js';

/** Loaded scripts, shared by all frames of the page. @type {Map<string, Promise<string | null>>} */
const found = new Map();

/**
 * The answer to a frame's request: the script, or an error text. `isVital`: the output cannot be
 * shown without the script.
 * @param {string} url
 * @returns {Promise<{text: string | null, note?: string, isVital?: boolean}>}
 */
export async function scriptFor(url) {
    const name = libraryOf(url);
    if (name === null) return { text: null, note: OUTPUT_WORDS.noNetwork(url.slice(0, 200)) };
    if (name === 'nothing') return { text: '' };
    const text = await fetched(name);
    return text === null ? { text, note: OUTPUT_WORDS.missing(...PACKAGES[name]), isVital: true } : { text };
}

/** Forgets all scripts, because the notebook has another Python. */
export const forgetScripts = () => found.clear();

/** @param {string} name @returns {Promise<string | null>} */
function fetched(name) {
    let text = found.get(name);
    if (!text) {
        const notebook = document.getElementById('page')?.dataset.notebook ?? '';
        text = fetch(serverPath(`/api/libraries/${name}?notebook=${encodeURIComponent(notebook)}`)).then(
            (answer) => (answer.status === 200 ? answer.text() : null),
            () => null,
        );
        found.set(name, text);
        // Not cached: a missing library may be installed a moment later.
        text.then((got) => got === null && found.delete(name));
    }
    return text;
}
