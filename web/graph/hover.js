// @ts-check
// Opens a row's card if the pointer or the keyboard cursor rests on the row, or on a long press.

/**
 * Delays in milliseconds: before the first card opens (`REST`), before a card replaces another
 * (`NEXT`), before a card closes (`LEAVE`), of a long press (`HOLD`), and before a card opens at
 * the keyboard cursor (`CURSOR`).
 */
const REST = 400;
const NEXT = 90;
const LEAVE = 220;
const HOLD = 500;
const CURSOR = 700;

export class HoverTracker {
    /** @param {{show: (row: number) => void, hide: () => void, isShown: () => boolean}} card */
    constructor(card) {
        this.card = card;
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        this.timer = undefined;
        this.row = -1;
        /** Whether the timer opens the card of the row under the pointer. */
        this.rests = false;
        /** The row clicked last. The card of this row stays closed until the pointer leaves it. */
        this.hushed = -1;
        /** Whether the last touch was a long press, so that the graph ignores the next click. */
        this.isHeld = false;
        this.at = '';
    }

    /** @param {() => void} what @param {number} ms */
    #later(what, ms) {
        this.stop();
        this.timer = setTimeout(what, ms);
    }

    stop() {
        clearTimeout(this.timer);
        this.rests = false;
    }

    /** Called when the rows scroll: the row that was under the pointer is elsewhere. */
    scrolled() {
        this.row = -1;
        if (this.rests) this.stop();
    }

    /**
     * Handles a pointer move. If the screen position is the same as before, only the content under
     * the pointer moved, and the event is ignored.
     * @param {PointerEvent} event
     * @param {number} row -1 for none
     */
    moved(event, row) {
        const at = placeOf(event);
        if (event.pointerType === 'touch') return this.#slipped(at);
        if (at === this.at || event.buttons > 0) return;
        this.at = at;
        if (row === this.row) return;
        this.row = row;
        if (row !== this.hushed) this.hushed = -1;
        if (row < 0) this.left(event);
        else if (row !== this.hushed) {
            this.#later(() => this.card.show(row), this.card.isShown() ? NEXT : REST);
            this.rests = true;
        }
    }

    /** @param {string} at */
    #slipped(at) {
        if (at !== this.at) this.stop();
    }

    /**
     * Called when the pointer leaves the rows or the card: hides the card after a delay. Ignores
     * touch, because lifting the finger also sends a leave event and must not hide the card.
     * @param {PointerEvent} event
     */
    left(event) {
        if (event.pointerType === 'touch') return;
        this.row = -1;
        this.#later(() => this.card.hide(), LEAVE);
    }

    /**
     * Called when the pointer enters the card: keeps the card open.
     * @param {PointerEvent} event
     */
    stays(event) {
        this.at = placeOf(event);
        this.stop();
    }

    /** @param {number} row */
    clicked(row) {
        this.stop();
        this.hushed = row;
        this.card.hide();
    }

    /**
     * Called when a button or finger is pressed. A finger that stays down opens the row's card.
     * @param {PointerEvent} event
     * @param {number} row
     */
    pressed(event, row) {
        this.isHeld = false;
        if (event.pointerType !== 'touch') return;
        this.at = placeOf(event);
        this.#later(() => {
            this.isHeld = true;
            this.card.show(row);
        }, HOLD);
    }

    /** Called when a button or finger is released. @param {PointerEvent} event */
    released(event) {
        if (event.pointerType === 'touch' && !this.isHeld) this.stop();
    }

    /** Called when the keyboard cursor moved to a row. @param {number} row */
    walked(row) {
        this.#later(() => this.card.show(row), this.card.isShown() ? NEXT : CURSOR);
    }
}

/** @param {PointerEvent} event */
const placeOf = (event) => `${event.screenX} ${event.screenY}`;
