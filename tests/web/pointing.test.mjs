// When pointer movements show and hide a row's card.

import assert from 'node:assert/strict';
import { beforeEach, mock, test } from 'node:test';
import { HoverTracker } from '../../web/graph/hover.js';

const at = (x, y) => ({ screenX: x, screenY: y, pointerType: 'mouse', buttons: 0 });
const ON_ROW = at(100, 100);
const IN_CARD = at(500, 120);

/** Row 3 with its card shown, and the pointer in it. */
let shown;
let pointing;
beforeEach(() => {
    mock.timers.reset();
    mock.timers.enable({ apis: ['setTimeout'] });
    shown = -1;
    pointing = new HoverTracker({
        show: (row) => (shown = row),
        hide: () => (shown = -1),
        isShown: () => shown >= 0,
    });
    pointing.moved(ON_ROW, 3);
    mock.timers.tick(10_000);
    pointing.left(IN_CARD);
    pointing.stays(IN_CARD);
});

test('the card stays while the pointer is in it', () => {
    mock.timers.tick(10_000);
    assert.equal(shown, 3);
});

test('the card stays when the pointer returns to its old position on the row', () => {
    pointing.left(ON_ROW);
    pointing.moved(ON_ROW, 3);
    mock.timers.tick(10_000);
    assert.equal(shown, 3);
});

test('the card closes when the pointer moves elsewhere', () => {
    pointing.left(at(900, 600));
    mock.timers.tick(10_000);
    assert.equal(shown, -1);
});

test('rows that move below a resting pointer show no card', () => {
    pointing.left(at(900, 600));
    mock.timers.tick(10_000);
    pointing.moved(at(100, 130), 4);
    pointing.clicked(4);
    pointing.moved(at(100, 130), 5);
    mock.timers.tick(10_000);
    assert.equal(shown, -1);
});
