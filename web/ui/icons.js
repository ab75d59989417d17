// @ts-check
// The icons of the page, in one line style; base.css says how lines look.

import { html } from '../vendor/preact.js';

/** @param {string} path */
export const icon = (path) => () =>
    html`<svg class="icon" viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>`;

export const RunIcon = icon('M5 3.2v9.6l7.6-4.8z');
export const StopIcon = icon('M4.5 4.5h7v7h-7z');
export const MoreIcon = icon('M3.5 8h.01M8 8h.01M12.5 8h.01');
export const OnIcon = icon('M6 3.5 10.5 8 6 12.5');
export const GraphIcon = icon('M4 2.5v11M4 7c0 3 7 1.5 7 5M11 14.2a1.1 1.1 0 1 0 0-2.2 1.1 1.1 0 0 0 0 2.2');
export const WarningIcon = icon('M8 2.8 14 13H2zM8 6.8v2.8M8 11.4h.01');
export const SearchIcon = icon('M7 11.5a4.5 4.5 0 1 0 0-9 4.5 4.5 0 0 0 0 9M10.3 10.3l3.4 3.4');
export const UpIcon = icon('M3.5 10 8 5.5l4.5 4.5');
export const DownIcon = icon('M3.5 6 8 10.5 12.5 6');
export const FoldIcon = icon('M4.5 2.5 8 5.5l3.5-3M4.5 13.5l3.5-3 3.5 3M3 8h10');
export const UnfoldIcon = icon('M4.5 5 8 2l3.5 3M4.5 11 8 14l3.5-3M3 8h10');
export const CloseIcon = icon('M4 4l8 8M12 4l-8 8');
export const PinIcon = icon('M6 2.5h4l-.5 4 2 2.5h-7l2-2.5zM8 9v4.5');
export const KeepIcon = icon('M2.5 3.5h11v9h-11zM9 3.5v9');
export const FolderIcon = icon('M2.5 12.5v-9h4l1.5 2h5.5v7z');
export const CopyIcon = icon('M5.5 5.5h8v8h-8zM5.5 10.5h-3v-8h8v3');
export const SaveIcon = icon('M8 3.3v7M4.8 7.2 8 10.4l3.2-3.2M3 13h10');
export const TableIcon = icon('M2.5 3.5h11v9h-11zM2.5 7h11M6.5 3.5v9');
export const OutlineIcon = icon('M3 4h10M6 8h7M6 12h7M3 8h.01M3 12h.01');
export const CommandIcon = icon(
    'M6 6V4.25A1.75 1.75 0 1 0 4.25 6h7.5A1.75 1.75 0 1 0 10 4.25v7.5A1.75 1.75 0 1 0 11.75 10h-7.5' +
        'A1.75 1.75 0 1 0 6 11.75z',
);
export const LinkIcon = icon(
    'M6.7 9.3a2.6 2.6 0 0 0 3.7 0l2.3-2.3a2.6 2.6 0 0 0-3.7-3.7l-.9.9' +
        'M9.3 6.7a2.6 2.6 0 0 0-3.7 0L3.3 9a2.6 2.6 0 0 0 3.7 3.7l.9-.9',
);

/** A new shoot from a cut stem. */
export const Sprout = () => html`
    <svg class="sprout" viewBox="0 0 20 20" width="20" height="20" fill="none" stroke="currentColor"
        stroke-width="1.6"
        stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">
        <path d="M6.5 18v-8M4 10h5" /><path d="M6.5 15.5c4 0 6-2.5 6-7" />
        <path d="M12.5 8.5c-2.6-.6-3.6-2.6-3.2-5 2.3.4 3.6 2.3 3.2 5z" />
        <path d="M12.5 8.5c.4-2.6 2.4-4 5-3.7 0 2.7-2.2 4.3-5 3.7z" />
    </svg>`;
