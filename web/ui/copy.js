// @ts-check
// Copies text to the clipboard or, where the browser does not allow that, shows it for copying by
// hand.

import { WORDS } from '../shell/words.js';
import { tell } from './dialog.js';

/**
 * @param {import('../notebook/page.js').Page} page
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
