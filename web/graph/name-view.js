// @ts-check
// Shows the name of a state. If room is short, the part that its siblings share is cut off first.

import { tailOf } from './node-names.js';
import { html } from '../vendor/preact.js';

/** @param {{name: string, lead?: string}} props see node-names.js */
export const Name = ({ name, lead }) =>
    html`<span class="told">${lead && html`<span class="lead">${lead}</span>`}<span class="tail">
        ${tailOf({ name, lead })}</span></span>`;
