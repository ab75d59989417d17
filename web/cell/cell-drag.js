// @ts-check
// Drags cells by the handle on their rail, with mouse, pen or touch. The keys that move cells are
// in commands/key-bindings.js.

import { wholeCells } from './cell-operations.js';
import { draggedWith, dropCells } from './drop-cells.js';
import { cellElement, keyOf } from './focus.js';

export { moveShown, moveTextBy } from './drop-cells.js';

/** A drag this near to the top or bottom edge scrolls the page, in px. */
const EDGE = 60;
/** The maximum scroll speed, in px per frame. */
const FASTEST = 14;

export class CellDrag {
    /**
     * @param {HTMLElement} main the scrolling element
     * @param {import('./cell-controller.js').CellController} controller
     */
    constructor(main, controller) {
        this.main = main;
        this.controller = controller;
        this.y = 0;
        /**
         * `keys`: of the dragged cells. `order`: all cells, in their order before the drag. Null if
         * nothing is dragged.
         * @type {{keys: string[], order: {key: string, element: Element}[],
         *   view: import('./cell.js').Cell} | null}
         */
        this.drag = null;
        this.line = document.createElement('div');
        this.line.className = 'drop';
        main.addEventListener('pointerdown', (event) => this.#begin(event));
    }

    /** @param {PointerEvent} event */
    #begin(event) {
        const grip = /** @type {Element} */ (event.target).closest('[data-grip]');
        const view = this.controller.focus.views.get(keyOf(grip) ?? '');
        if (!grip || !view || event.button !== 0) return;
        const { edits, page } = this.controller;
        const keys = draggedWith(edits, view);
        const order = wholeCells(page.cells()).flatMap(({ key }) => {
            const element = cellElement(key);
            return element ? [{ key, element }] : [];
        });
        event.preventDefault();
        this.drag = { keys, order, view };
        this.y = event.clientY;
        this.#mark(true);
        document.body.append(this.line);
        const move = (/** @type {PointerEvent} */ now) => (this.y = now.clientY);
        const over = new AbortController();
        const end = (/** @type {boolean} */ isDropped) => {
            over.abort();
            if (isDropped) this.#drop();
            this.#mark(false);
            this.line.remove();
            this.drag = null;
        };
        const whileDragging = { signal: over.signal, capture: true };
        addEventListener('pointermove', move, whileDragging);
        addEventListener('pointerup', () => end(true), whileDragging);
        addEventListener('pointercancel', () => end(false), whileDragging);
        addEventListener(
            'keydown',
            (now) => {
                if (now.key !== 'Escape') return;
                now.preventDefault();
                now.stopPropagation();
                end(false);
            },
            whileDragging,
        );
        this.#follow();
    }

    /** @param {boolean} isOn */
    #mark(isOn) {
        for (const { key, element } of this.drag?.order ?? [])
            element.toggleAttribute('data-dragged', isOn && this.drag?.keys.includes(key));
        document.documentElement.toggleAttribute('data-dragging', isOn);
    }

    /** Scrolls near the edges and draws a line at the drop position. Repeats in each frame. */
    #follow() {
        if (!this.drag) return;
        const { top, bottom, left, width } = this.main.getBoundingClientRect();
        const by =
            this.y < top + EDGE ? this.y - top - EDGE : this.y > bottom - EDGE ? this.y - bottom + EDGE : 0;
        this.main.scrollTop += Math.max(-FASTEST, Math.min(FASTEST, by / 4));
        const { order } = this.drag;
        const next = order[this.#next()]?.element.getBoundingClientRect().top;
        const edge = next ?? order.at(-1)?.element.getBoundingClientRect().bottom ?? bottom;
        const box = order[0]?.element.getBoundingClientRect() ?? { left, width };
        Object.assign(this.line.style, {
            top: `${Math.max(top, Math.min(bottom, edge)) - 1}px`,
            left: `${Math.max(left, box.left)}px`,
            width: `${Math.min(width, box.width)}px`,
        });
        requestAnimationFrame(() => this.#follow());
    }

    /** The index in `order` of the cell below the drop position; `order.length` at the end. */
    #next() {
        const order = this.drag?.order ?? [];
        const at = order.findIndex(({ element }) => {
            const { top, height } = element.getBoundingClientRect();
            return this.y < top + height / 2;
        });
        return at < 0 ? order.length : at;
    }

    #drop() {
        const { keys, order, view } = /** @type {NonNullable<CellDrag['drag']>} */ (this.drag);
        dropCells(this.controller.edits, view, keys, order[this.#next() - 1]?.key ?? null);
    }
}
