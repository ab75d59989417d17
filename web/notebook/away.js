// @ts-check
// What attention.js shows outside the page: notifications of the browser, and the tab's icon.

import { WORDS } from '../shell/words.js';
import { AWAY_WORDS } from './away-words.js';

/** @typedef {import('../shell/model.js').Run} Run */

/** The setting of this browser. */
const KEY = 'ratoon.notifications';
/** The longest line of code in a notification, in characters. */
const LINE = 80;

/** Whether the user wants notifications and the browser allows them. */
export const notifies = () =>
    localStorage.getItem(KEY) === 'on' && 'Notification' in window && Notification.permission === 'granted';

/**
 * Turns notifications on or off. The browser asks the user when they are first turned on.
 * @param {boolean} isOn
 * @returns {Promise<string>} a message for the user
 */
export async function setNotifications(isOn) {
    if (!isOn) {
        localStorage.removeItem(KEY);
        return '';
    }
    const isAllowed = 'Notification' in window && (await Notification.requestPermission()) === 'granted';
    if (isAllowed) localStorage.setItem(KEY, 'on');
    return isAllowed ? AWAY_WORDS.notifying : AWAY_WORDS.notNotifying(isSecureContext);
}

/**
 * The text of a notification: a title and a line about the cell that it names.
 * @param {string} notebook
 * @param {Run[]} runs the runs that ended, or one run that waits for input
 * @returns {{title: string, body: string, run: Run}}
 */
export function notificationOf(notebook, runs) {
    const bad = runs.find((run) => run.prompt || run.status !== 'ok');
    const run = bad ?? /** @type {Run} */ (runs.at(-1));
    const said = run.prompt
        ? AWAY_WORDS.wantsInput
        : bad
          ? AWAY_WORDS.cellEnded(WORDS.failed[/** @type {'error'} */ (run.status)] ?? run.status)
          : AWAY_WORDS.finished(runs.length);
    const line = run.code.trim().split('\n', 1)[0]?.slice(0, LINE) ?? '';
    const why = run.prompt?.text || (run.error && `${run.error.ename}: ${run.error.evalue}`.slice(0, LINE));
    return { title: `${notebook}: ${said}`, body: [line, why].filter(Boolean).join('\n'), run };
}

/**
 * Shows a notification, if the user wants it.
 * @param {import('./page.js').Page} page
 * @param {Run[]} runs
 */
export function notify(page, runs) {
    if (!notifies()) return;
    const { title, body, run } = notificationOf(page.model.name, runs);
    const shown = new Notification(title, { body, tag: `ratoon.${page.model.name}` });
    shown.onclick = () => {
        window.focus();
        shown.close();
        page.goTo(run.exec_id);
    };
}

/** The colours of the dot in the icon, by the mark in the title. @type {Record<string, string>} */
const DOTS = { '?': '#c98a10', '▶': '#2f74c0', '✗': '#c8372b', '✓': '#1f9d55' };

/**
 * The icon with a dot in its corner.
 * @param {string} icon an SVG with a view box of 20 by 20
 * @param {string} mark the mark in the title
 */
export function iconOf(icon, mark) {
    const colour = DOTS[mark.trim()];
    if (!colour) return icon;
    // A gap around the dot would need a mask; a white ring does on light and dark tabs.
    const dot = `<circle cx="14.6" cy="14.6" r="4.6" fill="${colour}" stroke="#fff" stroke-width="1.4"/>`;
    return icon.replace('</svg>', `${dot}</svg>`);
}

const link = () => /** @type {HTMLLinkElement | null} */ (document.querySelector('link[rel="icon"]'));
/** The address of the icon without a dot. */
let plain = '';
/** The icon without a dot, once it is loaded. @type {Promise<string> | null} */
let loading = null;
/** The mark that the icon shows, or shows as soon as it is loaded. */
let drawn = '';

/** Shows a mark as a dot in the icon of the tab. @param {string} mark that in the title */
export async function drawIcon(mark) {
    const icon = link();
    if (!icon || mark === drawn) return;
    drawn = mark;
    plain ||= icon.href;
    loading ??= fetch(plain).then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)));
    try {
        const svg = mark && (await loading);
        // Another mark may have come meanwhile.
        if (drawn === mark)
            icon.href = svg ? `data:image/svg+xml,${encodeURIComponent(iconOf(svg, mark))}` : plain;
    } catch {
        loading = null;
        drawn = '';
    }
}
