// @ts-check
// When the card of a row is shown: the pointer or the keyboard rests on the row, or a finger is held on it.

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
        /** The row that was clicked: it is looked at already. */
        this.hushed = -1;
        /** A finger was held long enough: what follows is no click. */
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

    /** The pointer moved. Where only the page moved below it, nobody pointed at anything. @param {PointerEvent} event @param {number} row -1 for none */
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

    /** The pointer left the rows or the card. A finger does so whenever it goes up: that ends nothing. @param {PointerEvent} event */
    left(event) {
        if (event.pointerType === 'touch') return;
        this.row = -1;
        this.#later(() => this.card.hide(), LEAVE);
    }

    /** It is in the card. From there it may come back to the very place where it left its row. @param {PointerEvent} event */
    stays(event) {
        this.at = placeOf(event);
        this.stop();
    }

    /** The row was clicked. @param {number} row */
    clicked(row) {
        this.stop();
        this.hushed = row;
        this.card.hide();
    }

    /** A finger came down. @param {PointerEvent} event @param {number} row */
    pressed(event, row) {
        this.isHeld = false;
        if (event.pointerType !== 'touch') return;
        this.at = placeOf(event);
        this.#later(() => {
            this.isHeld = true;
            this.card.show(row);
        }, HOLD);
    }

    /** A finger went up. @param {PointerEvent} event */
    released(event) {
        if (event.pointerType === 'touch' && !this.isHeld) this.stop();
    }

    /** The keyboard stands on a row. @param {number} row */
    walked(row) {
        this.#later(() => this.card.show(row), this.card.isShown() ? NEXT : CURSOR);
    }
}

/** @param {PointerEvent} event */
const placeOf = (event) => `${event.screenX} ${event.screenY}`;
