// @ts-check
// The addresses of pictures in text cells: files in the directory in which cells run, and
// attachments of the notebook.

import { serverPath } from '../shell/server-path.js';

const SCHEME = 'attachment:';

/** The suffixes of pictures that browsers show (`src/pictures.rs`). */
const PICTURE = /\.(png|jpe?g|gif|svg|webp|avif|bmp|ico)$/i;

/** @param {string} name */
export const isPicture = (name) => PICTURE.test(name);

/**
 * The path of a picture below the directory in which cells run; null if the address leads
 * elsewhere. The server has the same rules (`formats/markdown`).
 * @param {string} address as in the text
 * @returns {string | null}
 */
export function localPath(address) {
    const path = address.replace(/[?#].*$/s, '');
    if (!path || path.startsWith('/') || path.includes('\\') || path.split('/')[0]?.includes(':'))
        return null;
    /** @type {string[]} */
    const parts = [];
    let decoded = '';
    try {
        decoded = decodeURIComponent(path);
    } catch {
        return null;
    }
    for (const part of decoded.split('/')) {
        if (part === '..' && parts.pop() === undefined) return null;
        if (!['', '.', '..'].includes(part)) parts.push(part);
    }
    return parts.length ? parts.join('/') : null;
}

/**
 * The address from which the browser gets a picture of a text cell; null if there is none.
 * @param {string} notebook
 * @param {string} address as in the text
 * @param {number} version another number makes the browser request a cached file again
 * @returns {string | null}
 */
export function pictureAt(notebook, address, version) {
    const at = (/** @type {string} */ kind, /** @type {string} */ path) =>
        serverPath(
            `/api/notebooks/${[notebook, kind, ...path.split('/')].map(encodeURIComponent).join('/')}`,
        );
    if (address.toLowerCase().startsWith(SCHEME)) {
        const name = localPath(address.slice(SCHEME.length));
        return name && isPicture(name) ? at('attachments', name) : null;
    }
    const path = localPath(address);
    return path && isPicture(path) ? `${at('pictures', path)}?v=${version}` : null;
}
