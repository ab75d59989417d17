// @ts-check
// The few pictures of the page, drawn with one pen.

import { html } from '../vendor/preact.js';

/** @param {string} path */
const icon = (path) => () => html`
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" fill="none" stroke="currentColor" stroke-width="1.5"
        stroke-linecap="round" stroke-linejoin="round" aria-hidden="true"><path d=${path} /></svg>`;

export const RunIcon = icon('M5 3.2v9.6l7.6-4.8z');
export const StopIcon = icon('M4.5 4.5h7v7h-7z');
export const MoreIcon = icon('M3.5 8h.01M8 8h.01M12.5 8h.01');
export const BackIcon = icon('M10 3.5 5.5 8l4.5 4.5');
export const OnIcon = icon('M6 3.5 10.500 8 6 12.5');
export const GraphIcon = icon('M4 2.5v11M4 7c0 3 7 1.500 7 5M11 14.2a1.100 1.100 0 1 0 0-2.200 1.100 1.100 0 0 0 0 2.200');
export const TableIcon = icon('M2.500 3.500h11v9h-11zM2.500 7h11M6.500 3.500v9');
export const LinkIcon = icon('M6.700 9.300a2.600 2.600 0 0 0 3.700 0l2.300-2.300a2.600 2.600 0 0 0-3.700-3.700l-.9.900M9.300 6.700a2.600 2.600 0 0 0-3.700 0L3.300 9a2.600 2.600 0 0 0 3.700 3.700l.9-.9');

/** A new shoot from a cut stem. */
export const Sprout = () => html`
    <svg class="sprout" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor" stroke-width="1.600"
        stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
        <path d="M7 17.500V9M4.800 9h4.400" /><path d="M7 14c0-4 2.500-5.500 6-5.500 0 4-2.500 5.500-6 5.500z" /><path d="M13 8.500c0-3 1.300-4.500 3.500-5 .3 2.700-.8 4.600-3.500 5z" />
    </svg>`;
