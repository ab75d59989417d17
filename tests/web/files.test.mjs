// The state of the files pane: folders, sorting and uploads, with a server made of functions.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FileBrowser, joined, sortedEntries } from '../../web/files/file-browser.js';

/** @returns {any} */
const file = (name, bytes = 1, modified = 0, kind = 'file') => ({ name, kind, bytes, modified });
const refusal = (message, code = 'disk') => Object.assign(new Error(message), { code });

/** A server whose uploads wait until the test ends them. */
function world(folders = { '': [] }, answer = true) {
    const uploads = [];
    const asked = [];
    const server = {
        listFolder: async (folder) => {
            if (!folders[folder]) throw refusal('no such folder');
            return { directory: '/home/me', entries: folders[folder], more: 0, may_write: true };
        },
        uploadFile: (path, _file, replaces, onProgress) => {
            const one = { path, replaces, onProgress };
            one.abort = () => one.fail(null);
            const done = new Promise((resolve, reject) => Object.assign(one, { resolve, fail: reject }));
            uploads.push(one);
            return { done, abort: one.abort };
        },
    };
    const ask = async ({ title }) => (asked.push(title), answer);
    const browser = new FileBrowser(server, () => {}, ask);
    return { browser, uploads, asked, folders };
}
const settled = () => new Promise((done) => setImmediate(done));

test('folders come first, and names are sorted as people sort them', () => {
    const all = [
        file('b10', 3, 1),
        file('B9', 1, 3),
        file('main.ratoon', null, 9, 'notebook'),
        file('z', null, 2, 'folder'),
        file('a', 2, 2),
    ];
    const names = (by, isDown) => sortedEntries(all, { by, isDown }).map(({ name }) => name);
    assert.deepEqual(names('name', false), ['z', 'main.ratoon', 'a', 'B9', 'b10']);
    assert.deepEqual(names('name', true), ['z', 'main.ratoon', 'b10', 'B9', 'a']);
    assert.deepEqual(names('bytes', true), ['z', 'main.ratoon', 'b10', 'a', 'B9']);
    assert.deepEqual(names('modified', false), ['z', 'main.ratoon', 'b10', 'a', 'B9']);
    assert.equal(joined('', 'a'), 'a');
    assert.equal(joined('a/b', 'c'), 'a/b/c');
});

test('only the answer to the last request is shown, and a refusal says why', async () => {
    const { browser } = world({ '': [file('a')], slow: [file('s')] });
    const first = browser.open('slow');
    const second = browser.open('');
    await Promise.all([first, second]);
    assert.deepEqual(
        browser.listing?.entries.map(({ name }) => name),
        ['a'],
    );
    await browser.open('none');
    assert.equal(browser.listing, null);
    assert.equal(browser.why, 'no such folder');
});

test('uploads go one after the other, show progress, and can be cancelled while they wait', async () => {
    const { browser, uploads } = world({ '': [], data: [] });
    const files = ['a', 'b', 'c'].map((name) => new File(['12345'], name));
    const done = browser.upload(files, 'data');
    await settled();
    assert.deepEqual(
        uploads.map(({ path }) => path),
        ['data/a'],
    );
    uploads[0].onProgress(3);
    assert.deepEqual(
        browser.uploads.map(({ name, sent, isSending }) => [name, sent, isSending]),
        [
            ['a', 3, true],
            ['b', 0, false],
            ['c', 0, false],
        ],
    );
    browser.cancel(browser.uploads[1]);
    uploads[0].resolve();
    await settled();
    assert.deepEqual(
        uploads.map(({ path }) => path),
        ['data/a', 'data/c'],
    );
    browser.cancel(browser.uploads[0]);
    assert.deepEqual(await done, ['a']);
    assert.deepEqual(browser.uploads, []);
});

test('the pane hears which file was uploaded last, if it shows its folder', async () => {
    const { browser, uploads } = world({ '': [], data: [] });
    const heard = [];
    browser.onUploaded = (name) => heard.push(name);
    for (const folder of ['data', '']) {
        const done = browser.upload(
            ['a', 'b', 'c'].map((name) => new File(['1'], folder + name)),
            folder,
        );
        for (const end of ['resolve', 'resolve', 'abort']) {
            await settled();
            uploads.at(-1)[end]();
        }
        await done;
    }
    assert.deepEqual(heard, ['b']);
});

test('a failed upload stays in the list with its reason, and the next one goes on', async () => {
    const { browser, uploads } = world();
    const done = browser.upload([new File([''], 'a'), new File([''], 'b'), new File([''], 'e\u0301')]);
    await settled();
    uploads[0].fail(refusal('the disk is full'));
    await settled();
    uploads[1].fail(new Error('no answer'));
    await settled();
    assert.equal(uploads[2].path, '\u00e9', 'names have the form of Linux');
    uploads[2].resolve();
    assert.deepEqual(await done, ['\u00e9']);
    assert.deepEqual(
        browser.uploads.map(({ why }) => why),
        ['the disk is full', '“b” was not uploaded: the connection failed.'],
    );
    browser.cancel(browser.uploads[0]);
    assert.equal(browser.uploads.length, 1);
});

test('an upload asks before it replaces a file, and never replaces a folder', async () => {
    const taken = { '': [file('a'), file('data', null, 0, 'folder')] };
    const no = world(taken, false);
    assert.deepEqual(await no.browser.upload([new File([''], 'a')]), []);
    assert.deepEqual(no.asked, ['Replace “a”?']);
    assert.equal(no.uploads.length, 0);
    const yes = world(taken);
    const done = yes.browser.upload([new File([''], 'a'), new File([''], 'data')]);
    await settled();
    assert.equal(yes.uploads[0].replaces, true);
    yes.uploads[0].resolve();
    await settled();
    assert.equal(yes.uploads[1].replaces, false, 'the server refuses it');
    yes.uploads[1].fail(refusal('it is a folder', 'conflict'));
    assert.deepEqual(await done, ['a']);
    assert.deepEqual(yes.asked, ['Replace “a”?']);
});
