// @ts-check
// Attaches pasted and dropped pictures to the notebook, for a text cell.

import { bytes } from '../text/format.js';
import { messageOf } from './file-browser.js';
import { attachPicture } from './files-api.js';
import { FILES_WORDS } from './files-words.js';

/** The maximum length of an attachment, in bytes (`store/attachments`). */
const MAX_BYTES = 10 * 1024 * 1024;

/**
 * Attaches pictures. Returns the Markdown that shows them; '' if none could be attached.
 * @param {import('../notebook/page.js').Page} page
 * @param {File[]} files
 * @returns {Promise<string>}
 */
export async function attachPictures(page, files) {
    const shown = [];
    for (const file of files) {
        if (file.size > MAX_BYTES) {
            page.notify(FILES_WORDS.pictureTooLarge(file.name, bytes(MAX_BYTES)), true);
            continue;
        }
        try {
            const name = await attachPicture(page.model.name, file);
            shown.push(
                `![${file.name.replace(/\.[^.]*$/, '').replace(/[[\]\\]/g, ' ')}](attachment:${name})`,
            );
        } catch (error) {
            page.notify(messageOf(error), true);
            break;
        }
    }
    return shown.join('\n\n');
}
