// @ts-check
// The banner of a notebook that was renamed or deleted while its page was open.

import { html } from '../vendor/preact.js';
import { HOME_WORDS } from '../home/home-words.js';
import { WORDS } from '../shell/words.js';

/** @param {{page: import('./page.js').Page, copy: () => void}} props */
export function NotebookGone({ page, copy }) {
    const to = page.model.movedTo;
    const url = to ? `/n/${encodeURIComponent(to)}#${encodeURIComponent(page.here)}` : '/';
    return html`<div class="banner" role="alert">
        ${HOME_WORDS.left(to)} ${HOME_WORDS.leftHint} <a class="text-button" href=${url}>
            ${to ? HOME_WORDS.leftGo(to) : HOME_WORDS.home}</a>${' '}
        ${page.isLoaded && html`<button class="text-button" onClick=${copy}>${WORDS.copyAll}</button>`}</div>`;
}
