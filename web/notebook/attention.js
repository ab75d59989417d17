// @ts-check
// Tells users who look elsewhere what their cells do: by a mark in the title of the tab and, if
// they want it, by notifications of the browser.

import { hasEnded } from '../shell/protocol.js';
import { WORDS } from '../shell/words.js';

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
    return isAllowed ? WORDS.notifying : WORDS.notNotifying(isSecureContext);
}

/**
 * The mark before the title of the tab.
 * @param {Run[]} open the runs that have not ended
 * @param {Run[]} unseen the runs that ended since the user last looked
 */
export function titleMark(open, unseen) {
    if (open.some((run) => run.prompt)) return '? ';
    if (open.length > 0) return '▶ ';
    if (unseen.some((run) => run.status !== 'ok')) return '✗ ';
    return unseen.length > 0 ? '✓ ' : '';
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
        ? WORDS.wantsInput
        : bad
          ? WORDS.cellEnded(WORDS.failed[/** @type {'error'} */ (run.status)] ?? run.status)
          : WORDS.finished(runs.length);
    const line = run.code.trim().split('\n', 1)[0]?.slice(0, LINE) ?? '';
    const why = run.prompt?.text || (run.error && `${run.error.ename}: ${run.error.evalue}`.slice(0, LINE));
    return { title: `${notebook}: ${said}`, body: [line, why].filter(Boolean).join('\n'), run };
}

export class Attention {
    /** @param {import('./page.js').Page} page */
    constructor(page) {
        this.page = page;
        this.title = document.title;
        /** The runs that had not ended at the last look. @type {Set<string>} */
        this.open = new Set();
        /** The runs that ended while the user looked elsewhere. @type {Run[]} */
        this.unseen = [];
        /** The question that the user was notified about last, by its run and number. */
        this.asked = '';
        for (const event of ['visibilitychange', 'focus', 'blur'])
            addEventListener(event, () => this.update(), true);
    }

    /** Call this after runs have begun, ended or asked for input, and after a snapshot. */
    update() {
        const { model } = this.page;
        const open = model.openRuns();
        const isAway = document.hidden || !document.hasFocus();
        const ended = [...this.open].map((id) => model.runs.get(id)).filter((run) => run !== undefined);
        const news = ended.filter((run) => hasEnded(run.status));
        this.open = new Set(open.map((run) => run.exec_id));
        this.unseen = isAway ? [...this.unseen, ...news] : [];
        const title = titleMark(open, this.unseen) + this.title;
        if (document.title !== title) document.title = title;
        if (!isAway) return;
        const asking = open.find((run) => run.prompt);
        const question = asking ? `${asking.exec_id} ${asking.prompt?.number}` : '';
        // When many cells run, one notification comes at the end of the last.
        if (asking && question !== this.asked) this.#notify([asking]);
        else if (news.length > 0 && open.length === 0) this.#notify(this.unseen);
        this.asked = question;
    }

    /** @param {Run[]} runs */
    #notify(runs) {
        if (!notifies()) return;
        const { title, body, run } = notificationOf(this.page.model.name, runs);
        const shown = new Notification(title, { body, tag: `ratoon.${this.page.model.name}` });
        shown.onclick = () => {
            window.focus();
            shown.close();
            this.page.goTo(run.exec_id);
        };
    }
}
