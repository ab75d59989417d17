// The cost of opening the page: the bytes, the requests and their order, caching, and the
// placeholder shown meanwhile. Counts only, no times.

import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { transform } from 'esbuild';
import { nightly } from './browser.mjs';
import { open, page, ran, run, server, test, texts } from './harness.mjs';
import { wholeStyle } from './mock.mjs';

const skip = !process.env.RATOON_BIN && 'the stand-in neither compresses nor bundles files';
/**
 * The most that the page may fetch until its first cell shows a result, in bytes without response
 * headers.
 */
const MOST = 260_000;

/**
 * The requests of a page until it is idle: path, body size, headers, whether cached, and initiator.
 */
async function watched(on, act) {
    const cdp = await on.context().newCDPSession(on);
    await cdp.send('Network.enable');
    const asked = new Map();
    cdp.on('Network.requestWillBeSent', ({ requestId, request, initiator }) =>
        asked.set(requestId, {
            path: new URL(request.url).pathname,
            by: initiator.type,
            bytes: 0,
            heads: 0,
            isCached: false,
        }),
    );
    cdp.on(
        'Network.requestServedFromCache',
        ({ requestId }) => asked.has(requestId) && (asked.get(requestId).isCached = true),
    );
    cdp.on('Network.responseReceived', ({ requestId, response }) => {
        const one = asked.get(requestId);
        if (one)
            Object.assign(one, {
                headers: response.headers,
                heads: response.encodedDataLength,
                isCached: one.isCached || response.fromDiskCache,
            });
    });
    cdp.on(
        'Network.loadingFinished',
        ({ requestId, encodedDataLength }) =>
            asked.has(requestId) &&
            (asked.get(requestId).bytes = encodedDataLength - asked.get(requestId).heads),
    );
    await act();
    await on.waitForSelector('.notebook[aria-busy="false"]');
    await on.waitForLoadState('networkidle');
    await cdp.detach();
    return [...asked.values()].filter(({ path }) => !path.startsWith('/ws/'));
}

const isFile = ({ path }) => path.startsWith('/assets/');

test('a first visit fetches at most 260 KB, each file once and compressed, and all scripts by the parser', {
    skip,
}, async () => {
    const { cookies, origins } = await page.context().storageState();
    const other = await open('about:blank', { storageState: { cookies, origins } }, false);
    // Modules that the page loads when idle do not count.
    await other.addInitScript(() => (window.requestIdleCallback = () => 0));
    const all = await watched(other, async () => {
        await other.goto(new URL('/n/main', server.url).href);
        await run('1 + 1', 'Shift+Enter', other);
        await ran(1, other);
    });
    const files = all.filter(isFile);
    const bytes = all.reduce((sum, one) => sum + one.bytes, 0);
    assert.ok(bytes <= MOST, `${bytes / 1000} KB`);
    // Chromium requests the icon again whenever the address changes, and finds it in its cache.
    const paths = all
        .filter(({ isCached, path }) => !isCached && !path.endsWith('/icon.svg'))
        .map(({ path }) => path);
    assert.deepEqual(
        paths.filter((path, i) => paths.indexOf(path) !== i),
        [],
        'no path is requested twice',
    );
    for (const one of files) {
        assert.match(one.headers['cache-control'], /immutable/, one.path);
        assert.equal(one.headers['content-encoding'], 'br', one.path);
        assert.match(one.headers.vary, /accept-encoding/i, one.path);
    }
    // Each request has a cost, so modules are bundled. The headless shell requests no icon.
    const names = new Set(files.map(({ path }) => path.replace(/^\/assets\/\w+\//, '')));
    names.delete('icon.svg');
    assert.deepEqual([...names].sort(), [
        'early.js',
        'notebook.js',
        'style/notebook.css',
        'vendor/codemirror.js',
        'vendor/preact.js',
    ]);
    // The parser requests all scripts, so that none waits for another one to load.
    assert.deepEqual(
        files.filter(({ by, path }) => by !== 'parser' && path.endsWith('.js')).map(({ path }) => path),
        [],
    );
});

test('a second visit fetches the document and nothing else', { skip }, async () => {
    await run('1 + 1');
    await ran(1);
    // The first visit ends when it has also loaded what it loads when idle.
    await page.waitForFunction(() => performance.getEntriesByName('parts loaded').length > 0);
    const all = await watched(page, () => page.goto(new URL('/n/main', server.url).href));
    // The page asks for the memory later.
    const asked = all.filter(({ isCached, path }) => !isCached && !path.endsWith('/memory'));
    assert.deepEqual(
        asked.map(({ path }) => path),
        ['/n/main'],
    );
});

test('until the modules have loaded, a placeholder shows the layout, and nothing jumps when they replace it', {
    skip,
}, async () => {
    const context = page.context();
    const other = await context.newPage();
    /** @type {(value?: any) => void} */
    let release = () => {};
    const held = new Promise((done) => (release = done));
    await other.route('**/notebook.js', async (route) => (await held, route.continue()));
    await other.goto(new URL('/n/main', server.url).href, { waitUntil: 'commit' });
    await other.waitForFunction(() => performance.getEntriesByName('first-contentful-paint').length > 0);
    const frame = () =>
        other.evaluate(() =>
            [...document.querySelectorAll('.top, .top h1, .graph-pane, .cells-pane')].map((one) => {
                const { x, y, width, height } = one.getBoundingClientRect();
                return [
                    one.tagName,
                    one.tagName === 'H1' ? one.textContent : '',
                    ...[x, y, one.tagName === 'H1' ? 0 : width, height].map(Math.round),
                ];
            }),
        );
    assert.equal(await other.locator('[data-shell]').count(), 1);
    const before = await frame();
    release();
    await other.waitForSelector('.notebook[aria-busy="false"]');
    assert.deepEqual(await frame(), before, 'nothing jumps');
    assert.equal(await other.locator('[data-shell]').count(), 0);
    assert.deepEqual(await texts('.top h1', other), ['main']);
    await other.close();
});

const web = fileURLToPath(new URL('../../web', import.meta.url));
/** A script or style in normal form, independent of its formatting, also of its HTML's. */
async function meaning(text, loader) {
    const { code } = await transform(text, {
        loader,
        minifyWhitespace: true,
        legalComments: 'none',
        charset: 'utf8',
        supported: { 'template-literal': false },
    });
    return code.replace(/html\(_[\w$]+\|\|\(_[\w$]+=__template\(\[.*?\]\)/gs, (all) =>
        all.replaceAll(/\\n\s*/g, '\\n'),
    );
}

/** A module without its imports, its exports and its relative URLs. */
const bare = (text) =>
    text
        .replace(/^(import |export \{)[^;]*;/gm, '')
        .replace(/^export /gm, '')
        .replace(/import\('[^']*'\)(\.then\(\(all\) => all\.\$\$\d+\))?/g, 'import(0)')
        .replaceAll(/new URL\('[^']*', import\.meta\.url\)(?=\))/g, 'import.meta.url');

test('the bundles contain every module and style once, without comments and otherwise unchanged', {
    skip,
}, async () => {
    const assets = await page.evaluate(() =>
        /** @type {HTMLScriptElement} */ (document.querySelector('script[type="module"]')).src.replace(
            /notebook\.js$/,
            '',
        ),
    );
    const served = async (path) => {
        const response = await fetch(new URL(path, assets), { headers: { 'accept-encoding': 'br' } });
        assert.equal(response.headers.get('content-encoding'), 'br', path);
        return response.text();
    };
    const joined = new Map();
    let before = 0;
    let after = 0;
    const pages = ['notebook.js', 'notebook-later.js', 'home.js', 'terminal-page.js', 'signin.js'];
    for (const path of [...pages, 'strip-token.js', 'find-worker.js']) {
        const inside = new Set();
        for (const [, name, text] of (await served(path)).matchAll(
            /^const \$\$\d+ = \(\(\) => \{[^\n]*\/\/ (\S+)\n(.*?)^return \{[^\n]*\};\n\}\)\(\);$/gms,
        )) {
            assert.ok(!inside.has(name), `${path} holds ${name} once`);
            inside.add(name);
            const plain = await readFile(join(web, name), 'utf8');
            assert.equal(await meaning(bare(text), 'js'), await meaning(bare(plain), 'js'), name);
            before += plain.length;
            after += text.length;
        }
        joined.set(path, inside);
    }
    assert.deepEqual(
        [...joined.get('notebook-later.js')].filter((name) => joined.get('notebook.js').has(name)),
        [],
        'no module is in both bundles',
    );
    const all = (await readdir(web, { recursive: true })).filter(
        (path) => path.endsWith('.js') && !path.startsWith('vendor'),
    );
    const known = new Set([...joined.values()].flatMap((inside) => [...inside]));
    assert.deepEqual(
        all.filter((path) => !known.has(path)).sort(),
        // The page sends the last to frames, as text. Exported files have the others.
        [
            'early.js',
            'export/export-words.js',
            'export/export.js',
            'export/exported-graph.js',
            'widgets/in-frame.js',
        ],
        'no module is missing',
    );
    assert.ok(after < before * 0.85, `${after} of ${before}`);
    assert.equal(
        await meaning(await served('early.js'), 'js'),
        await meaning(await readFile(join(web, 'early.js'), 'utf8'), 'js'),
    );
    for (const path of [
        'style/notebook.css',
        'style/later.css',
        'home/home.css',
        'style/plain.css',
        'style/base.css',
    ])
        assert.equal(
            await meaning(await served(path), 'css'),
            await meaning(await wholeStyle(path), 'css'),
            path,
        );
    for (const path of ['vendor/codemirror.js', 'vendor/preact.js', 'vendor/markdown.js'])
        assert.ok((await served(path)) === (await readFile(join(web, path), 'utf8')), path);
});

test(
    'a part that has not loaded yet is fetched when a key needs it, and the next keys wait for it',
    nightly({
        skip,
    }),
    async () => {
        const other = await page.context().newPage();
        /** @type {(value?: any) => void} */
        let release = () => {};
        const held = new Promise((done) => (release = done));
        await other.route('**/notebook-later.js', async (route) => (await held, route.continue()));
        await other.goto(new URL('/n/main', server.url).href);
        await other.waitForSelector('.cell[data-fresh] .cm-content');
        await other.locator('.cell[data-fresh] .cm-content').click();
        const asked = other.waitForRequest('**/notebook-later.js');
        await other.keyboard.press('Control+Shift+P');
        await asked;
        await other.keyboard.type('x');
        assert.equal(
            await other
                .locator('.cell[data-fresh] .cm-line')
                .textContent()
                .then((text) => text.includes('x') && !text.includes('Shift-Enter')),
            false,
            'the key does not reach the cell',
        );
        release();
        await other.locator('dialog [role="combobox"]').waitFor();
        await other.close();
    },
);

test('a part that fails to load is reported, and the next attempt works', nightly({ skip }), async () => {
    const other = await page.context().newPage();
    await other.route('**/notebook-later.js', (route) => route.abort());
    await other.goto(new URL('/n/main', server.url).href);
    await other.locator('.cell[data-fresh] .cm-content').click();
    const missing = other.locator('.notice[data-bad][data-open]', { hasText: 'could not be loaded' });
    const shows = other.getByRole('button', { name: 'Variables' });
    await other.keyboard.press('Control+Shift+P');
    await missing.waitFor();
    await other.locator('.notice').getByRole('button', { name: 'Close' }).click();
    await shows.click();
    await missing.waitFor();
    assert.equal(
        await shows.getAttribute('aria-pressed'),
        'false',
        'the button of a missing pane is not pressed',
    );
    await other.unroute('**/notebook-later.js');
    await shows.click();
    await other.locator('aside.variables-pane table, aside.variables-pane .variables-none').waitFor();
    await other.keyboard.press('Control+Shift+P');
    await other.locator('dialog [role="combobox"]').waitFor();
    await other.close();
});

test('an idle page fetches the remaining parts', nightly({ skip }), async () => {
    const other = await page.context().newPage();
    const last = other.waitForRequest('**/notebook-later.js');
    await other.goto(new URL('/n/main', server.url).href);
    await last;
    await other.waitForFunction(() =>
        performance
            .getEntriesByType('resource')
            .some(
                (/** @type {any} */ { name, responseEnd }) =>
                    name.endsWith('/notebook-later.js') && responseEnd > 0,
            ),
    );
    await other.close();
});
