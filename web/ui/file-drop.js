// @ts-check
// Handles drops on the page, so that no editor inserts the text of a dropped file and the browser
// never navigates to the file.

import { html } from '../vendor/preact.js';

/** Where text or links may be dropped: editors and inputs. */
const TAKES_TEXT = '.cm-content, input, textarea';

/** Covers the page during a drag. */
const OVERLAY = '.drop-overlay';

/** @typedef {{x: number, y: number}} Point on the screen */

/**
 * Handles drops anywhere on the page, before any element does.
 * @param {(at: Point | null, types: string[]) => void} hover called when dragged files move over
 *   the page, and with null when they leave it; `types`: those of the files, as far as known
 * @param {(files: File[], at: Point, folders: string[]) => void} take `folders`: the names of
 *   dropped folders, which browsers do not read as files
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
        const at = { x: event.clientX, y: event.clientY };
        const types = [...(dataTransfer?.items ?? [])].map((item) => item.type);
        hover(depth > 0 ? at : null, types);
        if (type !== 'drop' || !dataTransfer?.files.length) return;
        const entries = [...dataTransfer.items].map((item) => item.webkitGetAsEntry?.());
        const folders = entries.flatMap((entry) => (entry?.isDirectory ? entry.name : []));
        const files = [...dataTransfer.files].filter(({ name }) => !folders.includes(name));
        take(files, at, folders);
    };
    for (const kind of /** @type {const} */ (['dragenter', 'dragover', 'dragleave', 'drop']))
        addEventListener(kind, heard, { capture: true });
}

/**
 * The element at a point that matches a selector, below the overlay.
 * @param {Point} at
 * @param {string} selector
 */
export function elementAt({ x, y }, selector) {
    const [element] = document.elementsFromPoint(x, y).filter((one) => !one.closest(OVERLAY));
    return element?.closest(selector) ?? null;
}

/**
 * Covers the page during a drag, because output frames would receive the drop otherwise.
 * @param {{title: string, hint: string}} props
 */
export const DropOverlay = ({ title, hint }) =>
    html`<div class="drop-overlay"><div><b>${title}</b><span>${hint}</span></div></div>`;
