// @ts-check
// Shows the name of a state. If room is short, the part that its siblings share is cut off first.

import { tailOf } from './node-names.js';
import { html } from '../vendor/preact.js';

/** The number that tells equal names apart; it is never cut off. */
const NUMBER = /( \(\d+\))$/;

/** @param {{name: string, lead?: string}} props see node-names.js */
export function Name({ name, lead }) {
    const [tail, number] = tailOf({ name, lead }).split(NUMBER);
    return html`<span class="told">${lead && html`<span class="lead">${lead}</span>`}<span class="tail">
        ${tail}</span>${number && html`<span class="nth">${number}</span>`}</span>`;
}
