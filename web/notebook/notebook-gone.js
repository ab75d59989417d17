// @ts-check
// The banner of a notebook that was renamed or deleted while its page was open.

import { html } from '../vendor/preact.js';
import { GONE_WORDS } from './gone-words.js';
import { WORDS } from '../shell/words.js';
import { serverPath } from '../shell/server-path.js';

/** @param {{page: import('./page.js').Page, copy: () => void}} props */
export function NotebookGone({ page, copy }) {
    const to = page.model.movedTo;
    const url = serverPath(to ? `/n/${encodeURIComponent(to)}#${encodeURIComponent(page.here)}` : '/');
    return html`<div class="banner" role="alert">
        ${GONE_WORDS.left(to)} ${GONE_WORDS.leftHint} <a class="text-button" href=${url}>
            ${to ? GONE_WORDS.leftGo(to) : WORDS.home}</a>${' '}
        ${page.isLoaded && html`<button class="text-button" onClick=${copy}>${WORDS.copyAll}</button>`}</div>`;
}
