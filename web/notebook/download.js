// @ts-check
// Downloads the lineage of the current state as a file.

import { documentAt } from '../home/notebooks-api.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';

/** How long to wait until all typing is sent, in milliseconds. */
const PATIENCE = 2000;

/**
 * The menu entries.
 * @param {import('./page.js').Page} page
 * @returns {import('../ui/menu.js').Action[]}
 */
export const downloadsOf = (page) =>
    /** @type {const} */ (['ipynb', 'py', 'html']).map((format) => ({
        text: NOTEBOOK_WORDS.download(format === 'html' ? 'HTML' : `.${format}`),
        act: () => download(page, format),
    }));

/** @param {import('./page.js').Page} page @param {'ipynb' | 'py' | 'html'} format */
async function download(page, format) {
    // The file must contain the current drafts.
    page.drafts.flushAll();
    const until = Date.now() + PATIENCE;
    while (page.drafts.local.size && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
    const link = document.createElement('a');
    link.href = documentAt(page.model.name, page.here, format);
    link.download = '';
    link.click();
}
