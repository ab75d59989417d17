// @ts-check
// The selected cells on the page: extends the selection, shows and announces it.

import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { announce } from '../ui/announce.js';
import { keyOf } from './focus.js';
import { Selection } from './selection.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('./cell.js').Cell} CellView */

export class SelectedCells {
    /**
     * @param {import('./section-folds.js').CellPage} page
     * @param {import('./section-folds.js').SectionFolds} sections
     * @param {import('./focus.js').Focus} focus
     */
    constructor(page, sections, focus) {
        this.page = page;
        this.sections = sections;
        this.focus = focus;
        this.selection = new Selection();
        /** The last text announced to screen readers. */
        this.announced = '';
    }

    /**
     * @param {CellView} view
     * @returns {CellView[]} all selected cells in order, or only `view` if it is not selected
     */
    with(view) {
        const keys = this.selection.keys(this.page.cells().map((cell) => cell.key));
        const own = view.props.cell.key;
        return (keys.includes(own) ? keys : [own]).flatMap((key) => this.focus.views.get(key) ?? []);
    }

    /**
     * Moves the focus in command mode.
     * @param {string} key the cell to start from
     * @param {number} step in cells; negative: upwards
     * @param {boolean} extends_ extends the selection to the newly focused cell
     */
    move(key, step, extends_) {
        const cells = this.sections.shownCells();
        const next =
            cells[
                Math.max(0, Math.min(cells.length - 1, cells.findIndex((cell) => cell.key === key) + step))
            ];
        if (!next) return;
        if (extends_) this.selection.extend(key, next.key);
        else this.selection.only(next.key);
        this.focus.cell(next.key);
        this.show(cells);
    }

    all() {
        const cells = this.sections.shownCells();
        const [first, last] = [cells[0], cells.at(-1)];
        if (!first || !last) return;
        this.selection.anchor = first.key;
        this.selection.head = last.key;
        this.focus.cell(last.key);
        this.show(cells);
    }

    /**
     * Selects the cell that received the focus by mouse, Tab or script.
     * @param {Element} target the focused element
     */
    onFocusIn(target) {
        const key = keyOf(target);
        this.selection.moved(key);
        const cells = this.page.cells();
        this.focus.remember(target, cells);
        if (target.closest('.cm-editor')) this.selection.only(key);
        this.show(cells);
    }

    /** @param {CellData[]} cells */
    show(cells) {
        const keys = this.selection.keys(cells.map((cell) => cell.key));
        for (const cell of document.querySelectorAll('.cell')) {
            cell.toggleAttribute(
                'data-selected',
                keys.length > 1 && keys.includes(cell.getAttribute('data-cell') ?? ''),
            );
        }
        this.announce(keys.length > 1 ? WORDS.selected(keys.length) : '');
    }

    /** Announces a text to screen readers. @param {string} text */
    announce(text) {
        if (this.announced === text) return;
        this.announced = text;
        announce(text);
    }
}
