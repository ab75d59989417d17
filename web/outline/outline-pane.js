// @ts-check
// The pane with the outline of the notebook. It marks the place that the user looks at, and goes to
// a cell on a click or by keyboard.

import { entryAt, outlineOf } from './outline.js';
import { OUTLINE_WORDS as WORDS } from './outline-words.js';
import { Component, html } from '../vendor/preact.js';
import { DownIcon, OnIcon } from '../ui/icons.js';
import { PaneEdge } from '../ui/pane-edge.js';

/** @typedef {import('./outline.js').Entry} Entry */
/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/**
 * @typedef {{page: import('../notebook/page.js').Page, cells: Cell[],
 *   sections: import('../notebook/sections.js').Sections,
 *   controller: import('../cell/cell-controller.js').CellController, rev: number}} OutlineProps
 */

/** The share of the visible height, from its top, where the user is assumed to read. */
const READING = 0.25;

/**
 * `at`: the key of the cell that the user looks at; `cursor`: the id of the entry with the keyboard
 * cursor.
 * @extends {Component<OutlineProps, {showsCells: boolean, at: string | null,
 *   cursor: string | null}>}
 */
export class OutlinePane extends Component {
    state = {
        showsCells: this.props.page.host.recall('outlineCells') === true,
        at: /** @type {string | null} */ (null),
        cursor: /** @type {string | null} */ (null),
    };
    /** @type {HTMLElement | null} */
    list = null;
    /** @type {Entry[]} */
    entries = [];
    /** The entry that was last scrolled into view. */
    seen = '';
    isDue = false;
    leaving = new AbortController();

    componentDidMount() {
        const { signal } = this.leaving;
        const main = document.querySelector('main');
        const look = () => this.#lookSoon();
        main?.addEventListener('scroll', look, { passive: true, signal });
        main?.addEventListener('focusin', look, { signal });
        this.#look();
    }

    componentWillUnmount() {
        this.leaving.abort();
    }

    componentDidUpdate() {
        const now = this.list?.querySelector('[data-cursor]') ?? this.list?.querySelector('[aria-current]');
        const id = now?.id ?? '';
        if (id === this.seen) return;
        this.seen = id;
        now?.scrollIntoView({ block: 'nearest' });
    }

    #lookSoon() {
        if (this.isDue) return;
        this.isDue = true;
        requestAnimationFrame(() => {
            this.isDue = false;
            if (!this.leaving.signal.aborted) this.#look();
        });
    }

    /** Finds the cell the user looks at: the focused one if visible, else the one at READING. */
    #look() {
        const main = document.querySelector('main');
        if (!main) return;
        const box = main.getBoundingClientRect();
        const line = box.top + READING * box.height;
        const focused = document.activeElement?.closest('main .cell');
        const rect = focused?.getBoundingClientRect();
        const isSeen = rect && rect.bottom > box.top && rect.top < box.bottom;
        const cells = [...main.querySelectorAll('.cell:not([hidden])')];
        const read = cells.findLast((cell) => cell.getBoundingClientRect().top <= line) ?? cells[0];
        const at = (isSeen ? focused : read)?.getAttribute('data-cell') ?? null;
        if (at !== this.state.at) this.setState({ at });
    }

    /** @param {Entry} entry */
    #go({ key, index }) {
        const { controller } = this.props;
        controller.focus.go({ key, asCell: true });
        const cell = document.querySelector(`[data-cell="${CSS.escape(key)}"]`);
        const heading = cell?.querySelectorAll('.prose :is(h1, h2, h3, h4, h5, h6)')[index];
        (heading ?? cell)?.scrollIntoView({ block: 'start' });
        this.setState({ cursor: null });
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { entries } = this;
        const at = this.#cursorAt();
        const entry = entries[at];
        const to = {
            ArrowDown: Math.min(at + 1, entries.length - 1),
            ArrowUp: Math.max(at - 1, 0),
            Home: 0,
            End: entries.length - 1,
        }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        if (to !== undefined) this.setState({ cursor: entries[to]?.id ?? null });
        else if (event.key === 'Enter' && entry) this.#go(entry);
        else if (event.key === 'ArrowLeft' && entry) this.#left(entry, at);
        else if (event.key === 'ArrowRight' && entry?.section?.isFolded) this.#fold(entry, false);
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** The index of the entry with the cursor. Without a cursor, of the current entry. */
    #cursorAt() {
        const { cursor, at } = this.state;
        const found = this.entries.findIndex(({ id }) => id === cursor);
        return found >= 0 ? found : Math.max(0, entryAt(this.entries, this.props.cells, at));
    }

    /**
     * Collapses a section, or goes to the heading around an entry.
     * @param {Entry} entry
     * @param {number} at its index
     */
    #left(entry, at) {
        if (entry.section && entry.section.count > 0 && !entry.section.isFolded)
            return this.#fold(entry, true);
        const around = this.entries
            .slice(0, at)
            .findLast(({ isHeading, depth }) => isHeading && depth < entry.depth);
        if (around) this.setState({ cursor: around.id });
        return undefined;
    }

    /** @param {Entry} entry @param {boolean} isFolded */
    #fold({ section, id }, isFolded) {
        if (!section) return;
        this.setState({ cursor: id });
        this.props.controller.sectionCommands.set(section, isFolded);
        this.list?.focus();
    }

    #toggleCells() {
        const showsCells = !this.state.showsCells;
        this.props.page.host.remember('outlineCells', showsCells);
        this.setState({ showsCells });
    }

    /**
     * @param {OutlineProps} props
     * @param {{showsCells: boolean, at: string | null, cursor: string | null}} state
     */
    render({ cells, sections }, { showsCells, at, cursor }) {
        this.entries = outlineOf(cells, sections, showsCells);
        const current = entryAt(this.entries, cells, at);
        const cursorAt = this.entries.findIndex(({ id }) => id === cursor);
        return html`
            <aside class="side outline-pane" aria-label=${WORDS.title}>
                <${PaneEdge} name="outline" label=${WORDS.resize} />
                <div class="outline-top">
                    <h2>${WORDS.title}</h2>
                    <button class="button" aria-pressed=${showsCells ? 'true' : 'false'}
                        title=${WORDS.showCellsHint} onClick=${() => this.#toggleCells()}>
                        ${WORDS.showCells}</button>
                </div>
                ${
                    this.entries.length === 0
                        ? html`<p class="hint outline-none">${WORDS.none}</p>`
                        : this.#list(current, cursorAt)
                }
            </aside>`;
    }

    /** @param {number} current the index of the current entry @param {number} cursorAt */
    #list(current, cursorAt) {
        return html`<div class="outline-list" id="outline" role="tree" tabindex="0"
                    aria-label=${`${WORDS.title}. ${WORDS.hint}`}
                    aria-activedescendant=${cursorAt >= 0 ? entryId(cursorAt) : null}
                    ref=${(/** @type {HTMLElement | null} */ list) => (this.list = list)}
                    onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}
                    onFocus=${() => this.setState({ cursor: this.entries[this.#cursorAt()]?.id ?? null })}
                    onBlur=${() => this.setState({ cursor: null })}>
                    ${this.entries.map((entry, i) => this.#entry(entry, i, i === current, i === cursorAt))}
                </div>`;
    }

    /**
     * @param {Entry} entry
     * @param {number} i
     * @param {boolean} isCurrent
     * @param {boolean} isCursor
     */
    #entry(entry, i, isCurrent, isCursor) {
        const { section, status, isHeading, isLabel, depth, text, number } = entry;
        const canFold = section !== null && section.count > 0;
        const twist = (/** @type {MouseEvent} */ event) => {
            event.stopPropagation();
            this.#fold(entry, !section?.isFolded);
        };
        return html`<div class="outline-entry" key=${entry.id} id=${entryId(i)} role="treeitem"
            aria-level=${depth + 1} aria-expanded=${canFold ? !section.isFolded : null}
            aria-current=${isCurrent ? 'location' : null} data-cursor=${isCursor ? '' : null}
            aria-selected=${isCursor ? 'true' : 'false'} data-depth=${Math.min(depth, MOST_DEPTH)}
            data-heading=${isHeading ? '' : null} data-label=${isLabel ? '' : null} data-status=${status || null}
            onMouseDown=${(/** @type {MouseEvent} */ event) => event.preventDefault()}
            onClick=${() => this.#go(entry)}>
            ${
                canFold
                    ? html`<span class="outline-twist" aria-hidden="true" onClick=${twist}>
                ${section.isFolded ? html`<${OnIcon} />` : html`<${DownIcon} />`}</span>`
                    : html`<span class="outline-twist"></span>`
            }
            <span class="outline-text">${text || WORDS.untitled}</span>
            ${status && html`<span class="outline-status">${WORDS.status[status]}</span>`}
            ${number !== null && html`<span class="outline-number">${number}</span>`}
        </div>`;
    }
}

/** The deepest level that is indented further than the one above. */
const MOST_DEPTH = 5;

/** @param {number} i */
const entryId = (i) => `outline-${i}`;
