// @ts-check
// What buttons do with an image of an output: copy it, show it at full size.

import { IMAGE_WORDS as SAY } from './image-words.js';
import { asBytes, imageAddress } from './mime.js';
import { WORDS } from '../shell/words.js';

/**
 * Copies an image as PNG, because the clipboard accepts images in no other format.
 * @param {import('../notebook/page.js').Page} page
 * @param {{mime: string, data: string}} image
 */
export async function copyImage(page, image) {
    try {
        await navigator.clipboard.write([new ClipboardItem({ 'image/png': asPng(image) })]);
        page.notify(SAY.copied, false);
    } catch {
        page.notify(SAY.notCopied, false);
    }
}

/** @param {{mime: string, data: string}} image @returns {Promise<Blob>} */
async function asPng({ mime, data }) {
    if (mime === 'image/png') return new Blob([asBytes(mime, data)], { type: mime });
    const image = Object.assign(new Image(), { src: imageAddress(mime, data) });
    await image.decode();
    const canvas = Object.assign(document.createElement('canvas'), {
        width: image.naturalWidth,
        height: image.naturalHeight,
    });
    canvas.getContext('2d')?.drawImage(image, 0, 0);
    return new Promise((done, fail) =>
        canvas.toBlob((blob) => (blob ? done(blob) : fail(new Error('no image'))), 'image/png'),
    );
}

/**
 * Shows an image at full size.
 * @param {string} src
 * @param {string} alt
 */
export function enlarge(src, alt) {
    const dialog = document.createElement('dialog');
    dialog.className = 'full-size';
    dialog.setAttribute('aria-label', SAY.fullSize);
    const image = Object.assign(document.createElement('img'), { src, alt: alt || WORDS.image });
    const close = Object.assign(document.createElement('button'), {
        className: 'button',
        textContent: SAY.close,
    });
    dialog.append(image, close);
    dialog.onclick = () => dialog.close();
    dialog.onclose = () => dialog.remove();
    document.body.append(dialog);
    dialog.showModal();
}
