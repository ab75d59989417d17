// @ts-check
// Opens a row's card on hover, after a pause of the keyboard cursor, or on a long press.

/** In milliseconds. */
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
        /** The row that was clicked: hovering it opens no card until the pointer has left it. */
        this.hushed = -1;
        /** Whether the current touch was a long press, whose click is ignored. */
        this.isHeld = false;
        this.at = '';
    }

    /** @param {() => void} what @param {number} ms */
    #later(what, ms) {
        clearTimeout(this.timer);
        this.timer = setTimeout(what, ms);
    }

    stop() {
        clearTimeout(this.timer);
    }

    /**
     * Handles a pointer move. Ignores events without a changed position: only the content below the
     * pointer moved then.
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
        else if (row !== this.hushed)
            this.#later(() => this.card.show(row), this.card.isShown() ? NEXT : REST);
    }

    /** @param {string} at */
    #slipped(at) {
        if (at !== this.at) this.stop();
    }

    /**
     * The pointer left the rows or the card. Ignores touch: every release sends a leave event,
     * which must not close the card.
     * @param {PointerEvent} event
     */
    left(event) {
        if (event.pointerType === 'touch') return;
        this.row = -1;
        this.#later(() => this.card.hide(), LEAVE);
    }

    /**
     * The pointer entered the card: keeps the card open.
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

    /** A touch began. @param {PointerEvent} event @param {number} row */
    pressed(event, row) {
        this.isHeld = false;
        if (event.pointerType !== 'touch') return;
        this.at = placeOf(event);
        this.#later(() => {
            this.isHeld = true;
            this.card.show(row);
        }, HOLD);
    }

    /** A touch ended. @param {PointerEvent} event */
    released(event) {
        if (event.pointerType === 'touch' && !this.isHeld) this.stop();
    }

    /** The keyboard cursor moved to a row. @param {number} row */
    walked(row) {
        this.#later(() => this.card.show(row), this.card.isShown() ? NEXT : CURSOR);
    }
}

/** @param {PointerEvent} event */
const placeOf = (event) => `${event.screenX} ${event.screenY}`;
