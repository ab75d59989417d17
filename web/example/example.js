// @ts-check
// The example: real data and four cells in an empty notebook, and a guide that leads a newcomer to
// three branches.

import { writeData } from './example-api.js';
import { exampleCells, PACKAGES } from './example-cells.js';
import { NOTHING_SEEN, seenNow, STEPS, stepIn } from './guide.js';
import { EXAMPLE_WORDS as SAY } from './example-words.js';
import { FileRefusal } from '../files/files-api.js';
import { newId } from '../text/format.js';
import { ROOT_STATE } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';
import { Component, html } from '../vendor/preact.js';

/** @typedef {import('../notebook/page.js').Page} Page */

/**
 * Writes the data into the directory in which cells run, and the cells as drafts into the notebook.
 * @param {Page} page
 * @returns {Promise<string | null>} the key of the first code cell; null after an error, which is
 *   reported
 */
export async function addExample(page) {
    const installed = packagesOf(page);
    try {
        await writeData();
    } catch (error) {
        page.notify(error instanceof FileRefusal ? error.message : SAY.noConnection, true);
        return null;
    }
    const cells = exampleCells(await installed);
    const ids = cells.map(() => newId());
    for (const [i, cell] of cells.entries()) {
        const draft = { id: ids[i] ?? '', on: ROOT_STATE, ...cell };
        page.drafts.add(draft, ids[i - 1] ?? page.drafts.lastOn(ROOT_STATE));
    }
    return ids[cells.findIndex(({ kind }) => kind === 'code')] ?? null;
}

/**
 * Those of `PACKAGES` that the notebook's Python has. Imports none of them.
 * @param {Page} page
 */
async function packagesOf(page) {
    const expressions = PACKAGES.map(
        (name) => `__import__("importlib.util").util.find_spec("${name}") is not None`,
    );
    const reply = await page.host.send({ do: 'evaluate', state: ROOT_STATE, expressions });
    const found = reply.kind === 'evaluated' ? reply.values : [];
    return new Set(PACKAGES.filter((_, i) => found[i]?.text === 'True'));
}

/**
 * The guide: the next step of the user.
 * @extends {Component<{page: Page, onClose: () => void, rev: number}, {}>}
 */
export class Guide extends Component {
    /** @type {import('./guide.js').Seen} */
    seen = this.props.page.host.recall('guideSeen') ?? NOTHING_SEEN;

    /** @param {{page: Page, onClose: () => void, rev: number}} props */
    render({ page, onClose }) {
        if (!page.isLoaded) return null;
        const now = { isComparing: page.comparison.isOpen, here: page.here };
        const seen = seenNow(this.seen, now);
        if (seen !== this.seen) page.host.remember('guideSeen', seen);
        this.seen = seen;
        const step = stepIn(page.model, seen);
        return html`<section class="banner guide" aria-label=${SAY.title}>
            <span class="hint steps">${SAY.progress(STEPS.indexOf(step) + 1, STEPS.length)}</span>
            <p role="status">${SAY.steps[step]}</p>
            <button class="text-button" title=${SAY.close} onClick=${onClose}>${WORDS.close}</button>
        </section>`;
    }
}
