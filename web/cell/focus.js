// @ts-check
// Which cell has the focus: moves it, remembers it, and recovers it when its element disappears.
// Also keeps the focused cell in view while outputs above it grow.

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('./cell.js').Cell} CellView */
/**
 * @typedef {{key: string, caret: {anchor: number, head: number} | null}} KeptFocus `key`: that of
 *   the cell, 'fresh' for the empty cell, or 'graph'; `caret`: the selection in the cell's editor,
 *   null if the cell itself has the focus
 */

/** Free space that `follow` leaves below the focused cell, in px. */
const FREE = 24;

export class Focus {
    /**
     * @param {import('./section-folds.js').CellPage} page
     * @param {import('./section-folds.js').SectionFolds} sections
     */
    constructor(page, sections) {
        this.page = page;
        this.sections = sections;
        /** The mounted cells. @type {Map<string, CellView>} */
        this.views = new Map();
        /**
         * The cell that the next paint focuses: the cell `key`, or the cell below `after`.
         * @type {{key: string, asCell?: boolean} | {after: string} | null}
         */
        this.target = null;
        /**
         * The last focused cell. `#recover` uses it if the focused element disappears. `asCell`:
         * whether the cell had the focus, not its editor.
         * @type {{key: string, index: number, asCell: boolean} | null}
         */
        this.last = null;
        /**
         * Whether the user's focus is in the page. Stays true when the focused element is removed
         * or disabled, so that `#recover` then focuses a cell.
         */
        this.isInPage = false;
        /**
         * A draft that moves, until a paint shows it at its new index. That paint focuses the
         * draft. `index`: its index before. `shown`: see `goAlong`.
         * @type {{key: string, asCell: boolean, index: number, shown: string[]} | null}
         */
        this.moving = null;
        /**
         * The last cell that the user ran with a key that moves the focus down. While the outputs
         * of this cell grow, `follow` keeps the focused cell in view.
         * @type {string | null}
         */
        this.followed = null;
        /** The keys of the cells at the last paint. */
        this.order = '';
    }

    /** @param {string} key @param {CellView} view */
    mounted(key, view) {
        this.views.set(key, view);
    }

    /** @param {string} key @param {CellView} view */
    unmounted(key, view) {
        if (this.views.get(key) === view) this.views.delete(key);
    }

    /** Tracks the focus. If a pressed button disappears, moves the focus to a cell. */
    watch() {
        document.addEventListener('focusin', ({ target }) => {
            this.isInPage = /** @type {Element} */ (target).closest('.app') !== null;
            this.page.presence.onMoved();
        });
        // A click on empty space removes the focus on purpose. The element that had the focus
        // then still exists.
        document.addEventListener('focusout', ({ target, relatedTarget }) =>
            queueMicrotask(() => {
                if (
                    !relatedTarget &&
                    document.hasFocus() &&
                    /** @type {Element} */ (target).isConnected &&
                    !isDisabled(/** @type {Element} */ (target))
                )
                    this.isInPage = document.activeElement !== document.body;
            }),
        );
        document.addEventListener('click', () =>
            requestAnimationFrame(() => this.#recover(this.page.cells())),
        );
    }

    /**
     * Moves the focus at once, so that the next key reaches the new cell.
     * @param {{key: string, asCell?: boolean} | {after: string}} where
     */
    go(where) {
        this.target = where;
        this.page.host.paintNow();
    }

    /** Focuses the cell itself, not its editor. @param {string} key */
    cell(key) {
        const cell = this.#element(key);
        cell?.focus();
        if (cell) showWhole(cell);
    }

    /** The editor that the user types in, unless `follow` moves it. */
    typedIn() {
        return this.followed === null ? (document.activeElement?.closest('.cell .cm-editor') ?? null) : null;
    }

    /**
     * Moves the cursor from the first line to the cell above, or from the last line to the cell
     * below. A cell with collapsed code gets the focus itself.
     * @param {CellView} view
     * @param {1 | -1} step 1: down; -1: up
     * @returns {boolean} whether the focus moved
     */
    leaveByArrow(view, step) {
        const state = view.editor?.view?.state;
        if (!state || state.selection.ranges.length > 1 || !state.selection.main.empty) return false;
        const line = state.doc.lineAt(state.selection.main.head).number;
        if (line !== (step === 1 ? state.doc.lines : 1)) return false;
        const next = this.neighbour(view.props.cell.key, step);
        if (!next) return false;
        this.#element(next.key);
        const target = this.views.get(next.key);
        if (target?.isFolded) this.cell(next.key);
        else target?.focus(step === 1 ? 'start' : 'end');
        return true;
    }

    /**
     * Returns a cell's element. Paints first if the element does not exist yet, because a key may
     * arrive before that paint.
     * @param {string} key
     * @returns {HTMLElement | null}
     */
    #element(key) {
        if (!cellElement(key)) this.page.host.paintNow();
        this.sections.reveal(key);
        return cellElement(key);
    }

    /**
     * The cell above or below, among those that no collapsed section hides.
     * @param {string} key
     * @param {number} step
     */
    neighbour(key, step) {
        const cells = this.sections.shownCells();
        return cells[cells.findIndex((cell) => cell.key === key) + step];
    }

    /** The cell that has the focus or, if none has, had it last. @returns {CellView | null} */
    get view() {
        return this.views.get(keyOf(document.activeElement) ?? this.last?.key ?? '') ?? null;
    }

    /**
     * Lets the focus follow a cell that moves.
     * @param {string} key
     * @param {string[]} [shown] the cells that no section may hide then
     */
    goAlong(key, shown = []) {
        const index = this.page.cells().findIndex((cell) => cell.key === key);
        this.moving = { key, asCell: document.activeElement?.matches('.cell') ?? true, index, shown };
    }

    /**
     * Called after each paint: focuses `target` or, without one, recovers a lost focus.
     * @param {CellData[]} cells
     */
    onPainted(cells) {
        const { target } = this;
        this.target = null;
        if (target) {
            const step = 'key' in target ? 0 : 1;
            const shown = step ? this.sections.shownCells(cells) : cells;
            const at = shown.findIndex((cell) => cell.key === ('key' in target ? target.key : target.after));
            const next =
                shown[Math.min(at < 0 ? (this.last?.index ?? shown.length) : at + step, shown.length - 1)];
            // Focus an existing cell in command mode, but the empty cell in edit mode.
            const asCell = 'key' in target ? target.asCell : next?.kind !== 'draft' || !next.isFresh;
            if (next && asCell) this.cell(next.key);
            else if (next) this.views.get(next.key)?.focus();
        } else this.#recover(cells);
        const order = cells.map(({ key }) => key).join();
        if (order !== this.order) this.view?.editor?.keepCursor();
        this.order = order;
        this.remember(document.activeElement, cells);
        this.#onMoved(cells);
    }

    /** Focuses the cell that moved, once it stands elsewhere. @param {CellData[]} cells */
    #onMoved(cells) {
        const { moving } = this;
        const index = cells.findIndex((cell) => cell.key === moving?.key);
        if (!moving || index === moving.index) return;
        this.moving = null;
        for (const key of moving.shown) this.sections.reveal(key);
        if (moving.asCell) this.cell(moving.key);
        else this.views.get(moving.key)?.focus();
    }

    /** @param {Element | null} target @param {CellData[]} cells */
    remember(target, cells) {
        const key = keyOf(target);
        const index = cells.findIndex((cell) => cell.key === key);
        if (key && index >= 0) this.last = { key, index, asCell: !target?.closest('.cm-editor') };
    }

    /**
     * If the focused element was removed or disabled, focuses its cell. If that cell is gone,
     * focuses the cell that now has its index.
     * @param {CellData[]} cells
     */
    #recover(cells) {
        const { last } = this;
        const at = document.activeElement;
        if (at !== document.body && !(at && isDisabled(at))) return;
        const isThere = cells.some((cell) => cell.key === last?.key);
        if (!this.isInPage && (isThere || !last)) return;
        const next = isThere ? last : cells[Math.min(last?.index ?? cells.length, cells.length - 1)];
        if (next && last && !isThere && !last.asCell) this.views.get(next.key)?.focus();
        // If the cell still exists, do not scroll: the user did not move to another cell.
        else if (next) this.#element(next.key)?.focus({ preventScroll: isThere });
    }

    /** Scrolls while the outputs of `followed` grow, so that the focused cell stays in view. */
    follow() {
        const cell = this.followed === null ? null : cellElement(this.followed);
        const next = document.activeElement?.closest('.cell');
        const box = cell?.closest('main');
        if (!cell || !box || !next) return;
        // Only a cell below moves when the outputs grow.
        if (!(cell.compareDocumentPosition(next) & Node.DOCUMENT_POSITION_FOLLOWING)) return;
        const { top, bottom } = box.getBoundingClientRect();
        const at = next.getBoundingClientRect();
        const hidden = at.bottom + FREE - bottom;
        const room = Math.max(0, cell.getBoundingClientRect().top - top);
        const by = Math.min(hidden, room);
        if (by > 0) box.scrollTop += by;
        // The end of the pane cuts no cell.
        if (at.top - by < bottom) showWhole(next);
    }

    /** Called when the user scrolls: from now on, growing outputs do not scroll the page. */
    unfollow() {
        this.followed = null;
    }

    /**
     * Focuses the empty cell at the end.
     * @param {boolean} [asCell] whether to focus the cell, not its editor
     */
    fresh(asCell = false) {
        const fresh = this.#freshCell();
        if (fresh && asCell) this.cell(fresh.key);
        else if (fresh) this.views.get(fresh.key)?.focus();
    }

    /** Focuses the editor of the empty cell at the end. Only typing then scrolls to it. */
    freshInPlace() {
        const fresh = this.#freshCell();
        if (fresh) this.views.get(fresh.key)?.editor?.focus();
    }

    #freshCell() {
        return this.page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
    }

    /**
     * Where the focus is, for the time after a reload of the page.
     * @returns {KeptFocus | null}
     */
    kept() {
        const at = document.activeElement;
        if (at?.id === 'graph') return { key: 'graph', caret: null };
        const cell = /** @type {HTMLElement | null | undefined} */ (at?.closest('.cell'));
        const key = cell?.dataset.cell;
        if (!cell || key === undefined) return null;
        const isEditor = at?.closest('.cm-editor') != null;
        const { anchor, head } = this.views.get(key)?.editor?.selection ?? { anchor: 0, head: 0 };
        // The empty cell gets another key when the page loads.
        return {
            key: cell.dataset.fresh === undefined ? key : 'fresh',
            caret: isEditor ? { anchor, head } : null,
        };
    }

    /** @param {KeptFocus} kept @returns {boolean} whether the place still exists */
    restore({ key, caret }) {
        if (key === 'graph') document.getElementById('graph')?.focus();
        else {
            const cell =
                key === 'fresh' ? this.#freshCell() : this.page.cells().find((one) => one.key === key);
            const view = cell && this.views.get(cell.key);
            if (caret) view?.focus('keep', caret);
            else if (cell) this.cell(cell.key);
        }
        return document.activeElement !== document.body;
    }
}

/**
 * @param {Element | null | undefined} inside
 * @returns {string | null} the key of the cell that contains the element
 */
export const keyOf = (inside) => inside?.closest('.cell')?.getAttribute('data-cell') ?? null;

/** Shows a cell wholly or, if the pane is too low, from its top. @param {Element} cell */
export function showWhole(cell) {
    cell.scrollIntoView({ block: 'nearest' });
    const box = cell.closest('main');
    if (!box) return;
    // A cell that fits only without the usual space around it is cut otherwise.
    const [at, pane] = [cell.getBoundingClientRect(), box.getBoundingClientRect()];
    const by = at.bottom - pane.bottom;
    if (by > 0 && at.height + FREE < pane.height) box.scrollTop += by;
}

/** Whether an element is disabled, and so receives no key events. @param {Element} one */
const isDisabled = (one) => one.matches(':disabled');

/** The element of a cell. @param {string} key @returns {HTMLElement | null} */
export const cellElement = (key) => document.querySelector(`[data-cell="${CSS.escape(key)}"]`);
