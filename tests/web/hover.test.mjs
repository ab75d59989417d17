// The delays before a card of the graph opens and closes.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HoverTracker } from '../../web/graph/hover.js';

/** A card that notes what happens to it. */
function tracked(t) {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    /** @type {{shown: number | null}} */
    const card = { shown: null };
    const hover = new HoverTracker({
        show: (row) => (card.shown = row),
        hide: () => (card.shown = null),
        isShown: () => card.shown !== null,
    });
    const move = (y, row) =>
        hover.moved(/** @type {any} */ ({ pointerType: 'mouse', buttons: 0, screenX: 1, screenY: y }), row);
    return { card, hover, move, wait: (ms) => t.mock.timers.tick(ms) };
}

test('the card of a row opens after a rest on it, and the next one sooner', (t) => {
    const { card, move, wait } = tracked(t);
    move(10, 5);
    wait(390);
    assert.equal(card.shown, null);
    wait(10);
    assert.equal(card.shown, 5);
    move(40, 6);
    wait(90);
    assert.equal(card.shown, 6);
});

test('a row that scrolls away from under the pointer opens no card', (t) => {
    const { card, hover, move, wait } = tracked(t);
    move(10, 5);
    wait(300);
    hover.scrolled();
    wait(1000);
    assert.equal(card.shown, null);
    move(11, 16);
    wait(400);
    assert.equal(card.shown, 16);
});

test('a card that opens at the keyboard cursor may follow a scroll', (t) => {
    const { card, hover, wait } = tracked(t);
    hover.walked(30);
    hover.scrolled();
    wait(700);
    assert.equal(card.shown, 30);
});
