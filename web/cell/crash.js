// @ts-check
// The note below a crashed cell: what was lost, and what to do next.

import { html } from '../vendor/preact.js';
import { CRASH_WORDS as SAY } from './crash-words.js';

/** @param {{run: import('../shell/model.js').Run}} props */
export const Crash = ({ run: { error, draft } }) => html`
    <p class="crash">
        ${SAY.calm} ${/SIGKILL|memory/i.test(error?.evalue ?? '') && SAY.memory} ${
            draft ? SAY.next : SAY.nextElsewhere
        }</p>`;
