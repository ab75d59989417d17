import assert from 'node:assert/strict';
import { test } from 'node:test';
import { notificationOf, titleMark } from '../../web/notebook/attention.js';

/** @type {(status: string, more?: object) => any} */
const run = (status, more = {}) => ({
    exec_id: status,
    status,
    code: 'fit(df)\nscore()',
    prompt: null,
    ...more,
});
const prompt = { number: 1, text: 'name? ', password: false };
const error = { ename: 'NameError', evalue: "name 'df' is not defined" };

test('the tab shows the most urgent of what happens and of what the user has not seen', () => {
    assert.equal(titleMark([], []), '');
    assert.equal(titleMark([], [run('ok')]), '✓ ');
    assert.equal(titleMark([], [run('error', { error }), run('ok')]), '✗ ');
    assert.equal(titleMark([run('queued')], [run('error', { error })]), '▶ ');
    assert.equal(titleMark([run('running', { prompt }), run('running')], []), '? ');
});

test('a notification names the notebook, what happened, and the cell', () => {
    const of = (...runs) => {
        const { title, body } = notificationOf('main', runs);
        return [title, body];
    };
    assert.deepEqual(of(run('ok')), ['main: cell finished', 'fit(df)']);
    assert.deepEqual(of(run('ok'), run('ok')), ['main: 2 cells finished', 'fit(df)']);
    assert.deepEqual(of(run('ok'), run('error', { error })), [
        'main: a cell failed',
        "fit(df)\nNameError: name 'df' is not defined",
    ]);
    assert.deepEqual(of(run('running', { prompt })), ['main: a cell waits for input', 'fit(df)\nname? ']);
    const long = notificationOf('main', [run('ok', { code: `\n${'x'.repeat(500)}` })]);
    assert.equal(long.body.length, 80);
});
