import assert from 'node:assert/strict';
import { test } from 'node:test';

/** The requested idle callbacks. @type {((deadline?: unknown) => void)[]} */
const requested = [];
const requestIdleCallback = (what) => requested.push(what);
Object.assign(globalThis, { requestIdleCallback, window: { requestIdleCallback } });
const { whenIdle } = await import('../../web/ui/idle.js');

/** An idle period with room for so many functions. */
const idle = (room, didTimeout = false) =>
    requested.shift()({ didTimeout, timeRemaining: () => (--room > 0 ? 50 : 0) });

test('as many functions are called as there is time for, in order', () => {
    const called = [];
    for (const name of ['a', 'b', 'c']) whenIdle(() => void called.push(name));
    assert.equal(requested.length, 1);
    idle(2);
    assert.deepEqual(called, ['a', 'b']);
    whenIdle(() => void called.push('d'));
    assert.equal(requested.length, 1);
    idle(1);
    assert.deepEqual(called, ['a', 'b', 'c']);
    idle(1);
    assert.deepEqual(called, ['a', 'b', 'c', 'd']);
    assert.equal(requested.length, 0);
});

test('a page that is never idle calls all of them after a while', () => {
    const called = [];
    for (const name of ['a', 'b', 'c']) whenIdle(() => void called.push(name));
    idle(0, true);
    assert.deepEqual(called, ['a', 'b', 'c']);
});

test('a function that fails stops no other, nor one that asks for another', () => {
    const called = [];
    whenIdle(() => {
        throw new Error('broken');
    });
    whenIdle(() => whenIdle(() => void called.push('asked for')));
    assert.throws(() => idle(5), /broken/);
    idle(1);
    idle(1);
    assert.deepEqual(called, ['asked for']);
    assert.equal(requested.length, 0);
});

test('without idle periods, each function gets a task of its own', (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] });
    Object.assign(globalThis, { window: {} });
    t.after(() => Object.assign(globalThis, { window: { requestIdleCallback } }));
    const called = [];
    for (const name of ['a', 'b']) whenIdle(() => void called.push(name));
    t.mock.timers.runAll();
    assert.deepEqual(called, ['a', 'b']);
});
