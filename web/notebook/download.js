// @ts-check
// A line of the notebook as a file, from the menu of its page.

import { documentAt } from '../home/notebooks-api.js';
import { HOME_WORDS } from '../home/home-words.js';

/** How long what was just typed may take to arrive, in milliseconds. */
const PATIENCE = 2000;

/** The entries of the menu. @param {import('./page.js').Page} page @returns {import('../ui/menu.js').Action[]} */
export const downloadsOf = (page) =>
    /** @type {const} */ (['ipynb', 'py', 'html']).map((format) => ({
        text: HOME_WORDS.download(format === 'html' ? 'HTML' : `.${format}`),
        act: () => download(page, format),
    }));

/** @param {import('./page.js').Page} page @param {'ipynb' | 'py' | 'html'} format */
async function download(page, format) {
    // The file holds the drafts as they read now.
    page.drafts.flushAll();
    const until = Date.now() + PATIENCE;
    while (page.drafts.local.size && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
    const link = document.createElement('a');
    link.href = documentAt(page.model.name, page.here, format);
    link.download = '';
    link.click();
}
