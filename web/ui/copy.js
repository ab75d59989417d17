// @ts-check
// Copies text to the clipboard. If the browser does not allow that, a dialog shows the text for
// copying by hand.

import { WORDS } from '../shell/words.js';
import { tell } from './dialog.js';

/**
 * @param {{notify: (text: string, isBad: boolean) => void}} page
 * @param {string} text
 * @param {{said: string, title: string}} words
 */
export async function copyText(page, text, { said, title }) {
    try {
        await navigator.clipboard.writeText(text);
        page.notify(said, false);
    } catch {
        tell({ title, why: WORDS.linkWhy, text });
    }
}
