// @ts-check
// The toolbar beside an output: copy, save, keep in view. That of a data frame is below it.

import { asBytes, endingOf } from './mime.js';
import { html } from '../vendor/preact.js';
import { withPart } from '../shell/lazy-parts.js';
import { OUTPUT_WORDS } from './output-words.js';
import { copyText } from '../ui/copy.js';
import { saveBlob } from '../ui/save-blob.js';
import { CopyIcon, KeepIcon, SaveIcon } from '../ui/icons.js';
import { openGrid } from '../table/table-commands.js';
import { OPEN_WORDS } from '../table/open-words.js';

/**
 * @typedef {{text: (() => string) | null, image: {mime: string, data: string} | null,
 *   page: import('../notebook/page.js').Page | null,
 *   table?: import('../table/shown-table.js').ShownTable | null, id?: string, isGrid?: boolean,
 *   onGrid?: () => void, onKeep: (() => void) | null}} ToolsProps `table`: the data frame that the
 *   output shows; `onGrid` changes between its static table and the grid; `onKeep` keeps the
 *   outputs of the cell in view beside the notebook
 */

/** @param {ToolsProps} props */
export function OutputToolbar({ text, image, page, table, id, isGrid, onGrid, onKeep }) {
    if (!page || (!text && !image && !table && !onKeep)) return null;
    return html`
        <div class="output-tools" role="group" aria-label=${OUTPUT_WORDS.tools}
            data-table=${table ? '' : null}>
            ${
                table &&
                html`<button class="tool" title=${isGrid ? null : OPEN_WORDS.openHint}
                    onClick=${onGrid}>${isGrid ? OPEN_WORDS.asTable : OPEN_WORDS.inPlace}</button>
                <button class="tool" title=${OPEN_WORDS.openHint}
                    onClick=${() => void openGrid(page, table, id)}>${OPEN_WORDS.large}</button>`
            }
            ${image && tool(OUTPUT_WORDS.copyImage, CopyIcon, () => copyImage(page, image))}
            ${image && tool(OUTPUT_WORDS.saveImage, SaveIcon, () => saveFile(image.mime, image.data))}
            ${text && tool(OUTPUT_WORDS.copyOutput, CopyIcon, () => copyText(page, text(), COPIED))}
            ${onKeep && tool(OUTPUT_WORDS.keep, KeepIcon, onKeep)}
        </div>`;
}

/** @param {import('../notebook/page.js').Page} page @param {{mime: string, data: string}} image */
const copyImage = (page, image) => void withPart('imageActions', page, (part) => part.copyImage(page, image));

const COPIED = { said: OUTPUT_WORDS.copied, title: OUTPUT_WORDS.copyReady };

/** @param {string} name @param {typeof CopyIcon} icon @param {() => void} act */
const tool = (name, icon, act) => html`
    <button class="tool" aria-label=${name} title=${name} onClick=${act}><${icon} /></button>`;

/** @param {string} mime @param {string} data base64, or text @param {string} [name] */
export function saveFile(mime, data, name = 'output') {
    saveBlob([asBytes(mime, data)], `${name}.${endingOf(mime)}`);
}
