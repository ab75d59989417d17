// @ts-check
// The paragraph below a crashed cell. It says that all states are intact, and how to continue.

import { html } from '../vendor/preact.js';
import { CRASH_WORDS as SAY } from './crash-words.js';

/** @param {{run: import('../shell/model.js').Run}} props */
export const Crash = ({ run: { error, draft } }) => html`
    <p class="crash">
        ${SAY.calm} ${/SIGKILL|memory/i.test(error?.evalue ?? '') && SAY.memory} ${
            draft ? SAY.next : SAY.nextElsewhere
        }</p>`;
