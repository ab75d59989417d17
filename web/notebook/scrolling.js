// @ts-check
// Scrolls the notebook: to the state that the page goes to, to the cell of a followed person, and
// out from under a notice.

import { cellElement } from '../cell/focus.js';

/** @typedef {import('./cell-list.js').Cell} Cell */

/**
 * @typedef {{key: string, by: number}} Kept `by`: the distance from the upper edge of what scrolls
 *   to the cell, in px
 */

/** After navigation, how long content above the target cell may change its height, in ms. */
const SETTLING = 5000;
/** The gap between a notice and the cell above it, in px. */
const GAP = 8;

export class Scrolling {
    /** The state or attempt that the page showed last. @type {string | null} */
    shownHere = null;
    /**
     * The cell navigated to, while the content above it may still change its height.
     * @type {{key: string, until: number} | null}
     */
    arrived = null;
    /** The state and the cell of a followed person that were scrolled to last. @type {string | null} */
    shownFollowed = null;
    /** The last notice shown. @type {import('./page.js').Notice | null} */
    noticed = null;
    /** The element that scrolls. @type {HTMLElement | null} */
    main = null;

    /**
     * @param {import('./page.js').Page} page
     * @param {import('../cell/cell-controller.js').CellController} controller
     */
    constructor(page, controller) {
        this.page = page;
        this.controller = controller;
    }

    /**
     * @param {HTMLElement} main the element that scrolls
     * @param {Element} notebook its content
     */
    watch(main, notebook) {
        this.main = main;
        new ResizeObserver(() => {
            this.controller.focus.follow();
            this.#settle();
        }).observe(notebook);
        for (const look of /** @type {const} */ (['wheel', 'touchmove', 'pointerdown']))
            main.addEventListener(look, () => this.#leave(), { passive: true });
        main.addEventListener('input', () => this.controller.focus.unfollow(), { capture: true });
    }

    /** @param {Cell[]} cells the cells that the page shows now */
    onPainted(cells) {
        this.#toState(cells);
        this.#toFollowed();
    }

    /**
     * Scrolls to the cell of the state navigated to. Does nothing if the focus is in the cells,
     * because the focused cell is already in view.
     * @param {Cell[]} cells
     */
    #toState(cells) {
        const at = this.page.attempt ?? this.page.here;
        const before = this.shownHere;
        this.shownHere = at;
        const isFollowing = this.page.following.person !== null;
        if (before === at || (!isFollowing && this.main?.contains(document.activeElement))) return;
        const cell = cells.findLast(
            (one) =>
                (one.kind === 'ran' ? one.state.id : one.kind === 'attempt' ? one.run.exec_id : '') === at,
        );
        if (cell) this.controller.sections.reveal(cell.key);
        this.arrived = cell ? { key: cell.key, until: performance.now() + SETTLING } : null;
        this.#settle();
    }

    /** Scrolls to the cell that the followed person edits, once it is shown. */
    #toFollowed() {
        const { here, following } = this.page;
        const { cell } = following;
        const wish = cell && `${here} ${cell}`;
        if (wish === this.shownFollowed) return;
        const element = cell && cellElement(cell);
        if (cell && !element) return;
        this.shownFollowed = wish;
        if (element) element.scrollIntoView({ block: 'nearest' });
    }

    /** Scrolls the focused cell out from under a new notice. */
    onNotice() {
        const { notice } = this.page;
        if (notice === this.noticed) return;
        this.noticed = notice;
        const box = notice && document.querySelector('.notice')?.getBoundingClientRect();
        const cell = this.main?.contains(document.activeElement)
            ? document.activeElement?.closest('.cell')?.getBoundingClientRect()
            : null;
        if (!box || !cell || !this.main) return;
        const { top } = this.main.getBoundingClientRect();
        // If the cell is taller than the pane, keep its beginning in view.
        const by = Math.min(cell.bottom + GAP - box.top, cell.top - top);
        if (cell.top < box.bottom && by > 0) this.main.scrollTop += by;
    }

    /** Keeps the target cell in view while tables and pictures above it load. */
    #settle() {
        const { arrived, main } = this;
        if (!arrived || !main) return;
        if (performance.now() > arrived.until || main.contains(document.activeElement)) this.arrived = null;
        else cellElement(arrived.key)?.scrollIntoView({ block: 'nearest' });
    }

    /**
     * Where the notebook is scrolled to, for the time after a reload: the first cell in view.
     * @returns {Kept | null}
     */
    kept() {
        const top = this.main?.getBoundingClientRect().top ?? 0;
        for (const cell of this.main?.querySelectorAll(/** @type {'div'} */ ('.cell')) ?? []) {
            const at = cell.getBoundingClientRect();
            // The empty cell gets another key when the page loads.
            if (at.bottom > top && cell.dataset.fresh === undefined)
                return { key: cell.dataset.cell ?? '', by: at.top - top };
        }
        return null;
    }

    /** @param {Kept | null} kept */
    restore(kept) {
        const cell = kept && cellElement(kept.key);
        if (!kept || !cell || !this.main) return;
        this.arrived = null;
        this.main.scrollTop +=
            cell.getBoundingClientRect().top - this.main.getBoundingClientRect().top - kept.by;
    }

    /** The user scrolls: stops all automatic scrolling. */
    #leave() {
        this.arrived = null;
        this.controller.focus.unfollow();
        this.page.following.stop();
    }
}
