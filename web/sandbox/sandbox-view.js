// @ts-check
// Says in the header what cells may do, if the server restricts it.

import { html } from '../vendor/preact.js';
import { SANDBOX_WORDS as WORDS } from './sandbox-words.js';

/** @param {{page: import('../notebook/page.js').Page}} props */
export function SandboxNote({ page }) {
    const { write = null, network = true } = page.sandbox ?? {};
    const whole = WORDS.whole(write, network);
    return html`<span class="sandbox" title=${whole}><span class="visually-hidden">${whole}</span>
        <span aria-hidden="true">${WORDS.short}</span></span>`;
}
