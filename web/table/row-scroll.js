// @ts-check
// The vertical position in a table with any number of rows. Pure.
//
// Browsers limit the height of an element: Firefox to 17.9 million px, which are some 600,000 rows.
// So the scrolled content of a longer table is shorter than its rows. A jump of the scroll bar then
// moves to the same share of the rows, and a small step moves by its own pixels. When scrolling has
// ended, `barOf` moves the scroll bar to where the rows are.

/** The greatest height of scrolled content, in px. */
export const MAX_HEIGHT = 8_000_000;
/** Steps up to this share of the visible height move by their own pixels. */
const STEP = 1.5;

export class RowScroll {
    /** The first visible pixel of all rows. */
    top = 0;
    /** The height of all rows, in px. */
    whole = 0;
    /** The visible height, in px. */
    view = 0;
    /** The last position of the scroll bar, in px. */
    bar = 0;

    /** The height of the scrolled content, in px. */
    get height() {
        return Math.min(this.whole, MAX_HEIGHT);
    }

    get maxTop() {
        return Math.max(0, this.whole - this.view);
    }

    get maxBar() {
        return Math.max(0, this.height - this.view);
    }

    /** @param {number} whole @param {number} view */
    resize(whole, view) {
        this.whole = whole;
        this.view = view;
        this.top = Math.min(this.top, this.maxTop);
        this.bar = Math.min(this.bar, this.maxBar);
    }

    /** The user has moved the scroll bar. @param {number} bar */
    onScroll(bar) {
        const by = bar - this.bar;
        this.bar = bar;
        if (this.whole <= MAX_HEIGHT) this.top = bar;
        else if (bar <= 0) this.top = 0;
        else if (bar >= this.maxBar - 1) this.top = this.maxTop;
        // Browsers round the position that `barOf` sets.
        else if (Math.abs(by) < 1) return;
        else if (Math.abs(by) <= this.view * STEP) this.top += by;
        else this.top = (bar / this.maxBar) * this.maxTop;
        this.top = Math.max(0, Math.min(this.top, this.maxTop));
    }

    /**
     * Goes to a position. Returns the position of the scroll bar that belongs to it.
     * @param {number} top
     * @returns {number}
     */
    goTo(top) {
        this.top = Math.max(0, Math.min(top, this.maxTop));
        this.bar = this.barOf();
        return this.bar;
    }

    /** The position of the scroll bar that belongs to the visible rows. @returns {number} */
    barOf() {
        if (this.whole <= MAX_HEIGHT) return this.top;
        return this.maxTop ? (this.top / this.maxTop) * this.maxBar : 0;
    }
}
