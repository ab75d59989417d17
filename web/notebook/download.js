// @ts-check
// Downloads the lineage of the current state, or all branches, as a file.

import { branchesAt, documentAt } from '../home/notebooks-api.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';

/** How long to wait until all typing is sent, in milliseconds. */
const PATIENCE = 2000;

const FORMATS = /** @type {const} */ (['ipynb', 'py', 'html']);

/**
 * The menu entries.
 * @param {import('./page.js').Page} page
 * @returns {import('../ui/menu.js').Action[]}
 */
export const downloadsOf = (page) => [
    ...FORMATS.map((format) => ({
        text: NOTEBOOK_WORDS.download(format === 'html' ? 'HTML' : `.${format}`),
        act: () => download(page, () => documentAt(page.model.name, page.here, format)),
    })),
    {
        text: NOTEBOOK_WORDS.downloadAll,
        act: () => download(page, () => branchesAt(page.model.name, page.here)),
    },
];

/** @param {import('./page.js').Page} page @param {() => string} address of the file */
async function download(page, address) {
    // The file must contain the current drafts.
    page.save();
    const until = Date.now() + PATIENCE;
    while (page.drafts.local.size && Date.now() < until) await new Promise((done) => setTimeout(done, 20));
    const link = document.createElement('a');
    link.href = address();
    link.download = '';
    link.click();
}
