// @ts-check
// Tells users who look elsewhere what their cells do: by a mark in the title of the tab, a dot in
// its icon and, if they want it, by notifications of the browser.

import { hasEnded } from '../shell/protocol.js';
import { loadPart, whenLoaded } from '../shell/lazy-parts.js';

/** @typedef {import('../shell/model.js').Run} Run */

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
        /** Draws the icon, as soon as it is loaded. @type {((mark: string) => void) | null} */
        this.drawIcon = null;
        whenLoaded('away', ({ drawIcon }) => {
            this.drawIcon = drawIcon;
            this.update();
        });
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
        const mark = titleMark(open, this.unseen);
        const title = mark + this.title;
        if (document.title !== title) document.title = title;
        this.drawIcon?.(mark);
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
        loadPart('away').then(
            ({ notify }) => notify(this.page, runs),
            () => {},
        );
    }
}
