import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { titleMark } from '../../web/notebook/attention.js';
import { iconOf, notificationOf } from '../../web/notebook/away.js';

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

test('the icon has a dot of another colour for each mark, and none when nothing happens', async () => {
    const icon = await readFile(new URL('../../web/icon.svg', import.meta.url), 'utf8');
    const marks = [[run('running')], []].map((open) => titleMark(open, [run('ok')]));
    marks.push(titleMark([], [run('error', { error })]), titleMark([run('running', { prompt })], []));
    const drawn = marks.map((mark) => iconOf(icon, mark));
    for (const one of drawn) assert.match(one, /^<svg .*<circle [^>]*fill="#\w{6}"[^>]*\/><\/svg>\s*$/s);
    assert.equal(new Set(drawn).size, 4);
    assert.equal(iconOf(icon, titleMark([], [])), icon);
});
