// @ts-check
// Collapses and expands sections, and moves between their headings. The focus stays on a cell that
// can be seen.

import { keyOf } from './focus.js';

/** @typedef {import('./cell.js').Cell} CellView */

export class SectionCommands {
    /**
     * @param {import('./section-folds.js').SectionFolds} sections
     * @param {import('./focus.js').Focus} focus
     */
    constructor(sections, focus) {
        this.sections = sections;
        this.focus = focus;
    }

    /**
     * Collapses or expands a section. A hidden cell cannot have the focus.
     * @param {import('../notebook/sections.js').Section} section
     * @param {boolean} isFolded
     */
    set({ id, key }, isFolded) {
        const at = keyOf(document.activeElement);
        this.sections.set([id], isFolded);
        if (at === null || at === key || this.sections.of().hidden.has(at)) this.focus.cell(key);
    }

    /**
     * Collapses the section of a heading's cell, or goes to the heading above. Same as in
     * JupyterLab.
     * @param {CellView} view
     */
    fold(view) {
        const { key } = view.props.cell;
        const { byKey, around } = this.sections.of();
        const own = byKey.get(key);
        if (own && !own.isFolded && own.count > 0) return this.set(own, true);
        const above = around.get(key);
        if (above) this.focus.cell(above.key);
        return undefined;
    }

    /**
     * Expands the section of a heading's cell, or goes to the heading below.
     * @param {CellView} view
     */
    unfold(view) {
        const { key } = view.props.cell;
        const cells = this.sections.shownCells();
        const { byKey } = this.sections.of();
        const own = byKey.get(key);
        if (own?.isFolded) return this.set(own, false);
        const below = cells
            .slice(cells.findIndex((cell) => cell.key === key) + 1)
            .find((cell) => byKey.has(cell.key));
        if (below) this.focus.cell(below.key);
        return undefined;
    }

    /** Collapses or expands all sections. @param {boolean} isFolded */
    foldAll(isFolded) {
        const at = keyOf(document.activeElement) ?? '';
        const { byKey, around } = this.sections.of();
        const all = [...byKey.values()].filter(({ count }) => count > 0 || !isFolded);
        this.sections.set(
            all.map(({ id }) => id),
            isFolded,
        );
        let top = isFolded ? around.get(at) : null;
        while (top?.parent) top = top.parent;
        if (top) this.focus.cell(top.key);
    }
}
