// @ts-check
// Handles drops on the page, so that no editor inserts the text of a dropped file and the browser
// never navigates to the file.

import * as notebooks from '../home/notebooks-api.js';
import { html } from '../vendor/preact.js';
import { HOME_WORDS } from '../home/home-words.js';

/** Where text or links may be dropped: editors and inputs. */
const TAKES_TEXT = '.cm-content, input, textarea';

/**
 * Handles drops anywhere on the page, before any element does.
 * @param {(isOver: boolean) => void} hover called when a drag of files enters or leaves the page
 * @param {(files: File[]) => void} take
 */
export function watchDrops(hover, take) {
    /** How many nested elements the dragged files have entered and not left. */
    let depth = 0;
    const heard = (/** @type {DragEvent} */ event) => {
        const { type, dataTransfer, target } = event;
        const isText = !dataTransfer?.types.includes('Files');
        if (isText && target instanceof Element && target.closest(TAKES_TEXT)) return;
        if (type === 'dragover' || type === 'drop' || !isText) event.preventDefault();
        if (isText) return;
        event.stopPropagation();
        if (type === 'dragenter') depth += 1;
        if (type === 'dragleave') depth = Math.max(0, depth - 1);
        if (type === 'drop') depth = 0;
        hover(depth > 0);
        if (type === 'drop' && dataTransfer && dataTransfer.files.length > 0) take([...dataTransfer.files]);
    };
    for (const kind of /** @type {const} */ (['dragenter', 'dragover', 'dragleave', 'drop']))
        addEventListener(kind, heard, { capture: true });
}

/**
 * Covers the page during a drag, because output frames would receive the drop otherwise.
 * @param {{hint: string}} props
 */
export const DropOverlay = ({ hint }) =>
    html`<div class="drop-overlay"><div><b>${HOME_WORDS.drop}</b><span>${hint}</span></div></div>`;

/**
 * Offers to import files that were dropped on a notebook.
 * @param {import('../notebook/page.js').Page} page
 * @param {File[]} files
 */
export function offerImport(page, files) {
    const fitting = files.filter(({ name }) => notebooks.isNotebookFile(name));
    const [first] = fitting;
    if (!first)
        return page.notify(HOME_WORDS.droppedOther(files.map(({ name }) => name)), false, { stays: true });
    const large = fitting.find(({ size }) => size > notebooks.MAX_FILE_BYTES);
    if (large) return page.notify(HOME_WORDS.tooLarge(large.name), true);
    if (page.scope !== 'owner')
        return page.notify(HOME_WORDS.droppedByGuest(first.name), false, { stays: true });
    const act = () => void importAll(page, fitting);
    return page.notify(HOME_WORDS.dropped(fitting.map(({ name }) => name)), false, {
        stays: true,
        act: { text: HOME_WORDS.importIt(fitting.length), act },
    });
}

/** @param {import('../notebook/page.js').Page} page @param {File[]} files */
async function importAll(page, files) {
    try {
        page.notify(HOME_WORDS.importing(files[0]?.name ?? ''), false, { stays: true });
        const { made, leftOut } = await notebooks.importFiles(files, () => {});
        const [first, second] = made;
        const open = () => location.assign(first && !second ? notebooks.notebookAt(first) : '/');
        if (!leftOut.length) return open();
        return page.notify(`${HOME_WORDS.imported(made)} ${HOME_WORDS.leftOut(leftOut)}`, false, {
            stays: true,
            act: { text: HOME_WORDS.openIt(made.length), act: open },
        });
    } catch (error) {
        return page.notify(error instanceof notebooks.Refusal ? error.message : HOME_WORDS.failed, true);
    }
}
