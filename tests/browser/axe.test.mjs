// Every state that the page can be in, examined by axe-core in light and in dark: no violation of WCAG 2.2 A and AA, nor of
// its best practices. A state is a row of `STATES`: its name, and what leads there.
//
// The pages here are opened without their content policy, because axe is brought in from outside; that the policy holds
// is what all other browser tests see to.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { openBrowser, startServer } from './browser.mjs';
import { branches, kept, TROUBLE } from './fixture.mjs';
import { start } from './mock.mjs';
import { openPage } from './pages.mjs';

const axe = await readFile(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
const PHONE = { viewport: { width: 360, height: 740 } };

let browser;
before(async () => (browser = await openBrowser()));
after(() => browser?.close());

const run = async (page, code, key = 'Shift+Enter') => {
    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText(code);
    await page.keyboard.press(key);
};
const node = (id) => async (page) => {
    await page.locator(`.row[data-node="${id}"]`).click();
    await page.waitForSelector(`.row[data-node="${id}"][data-here]`);
};
const variables = async (page) => {
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.waitForSelector('.right tbody tr');
};
const address = (hash) => async (page) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForSelector('.compare');
};
const cellMenu = (item) => async (page) => {
    const cell = page.locator('.cell[data-kind="ran"]').last();
    await cell.hover();
    await cell.getByLabel('What to do with this cell').click();
    if (item) await page.getByRole('menuitem', { name: item }).click();
    await page.waitForSelector(item ? 'dialog' : '[role="menuitem"]');
};
const top = (button, item) => async (page) => {
    await page.getByRole('button', { name: button }).click();
    if (item) await page.getByRole('menuitem', { name: item }).click();
    await page.waitForSelector(item ? 'dialog, .notice[data-open]' : '[role="menuitem"], dialog');
};

/**
 * [name, what leads there, {notebook: of the stand-in, scope, and options of the browser's context}]
 * @type {[string, (page: any, server: any) => Promise<void>, {notebook?: () => object, scope?: string, viewport?: object}?][]}
 */
const STATES = [
    ['completions below a signature', async (page) => {
        await run(page, 'print(1, ra', 'Control+Space');
        await page.waitForSelector('.completions li');
        await page.keyboard.press('Escape');
        await page.keyboard.type(', ra');
        await page.waitForSelector('.tip');
        await page.keyboard.press('Control+Space');
        await page.waitForSelector('.completions li');
    }],
    ['what stands at the cursor', async (page) => {
        await run(page, 'print', 'Shift+Tab');
        await page.waitForSelector('.tip');
        await page.keyboard.press('Shift+Tab');
        await page.waitForSelector('.tip[data-size="whole"]');
    }],
    ['finding and replacing', async (page) => {
        await page.keyboard.press('Control+h');
        await page.keyboard.type('df');
        await page.waitForSelector('.found-here');
    }, { notebook: kept }],
    ['the palette', async (page) => {
        await page.keyboard.press('F1');
        await page.waitForSelector('#commands li');
    }, { notebook: kept }],
    ['several cells selected, with line numbers', async (page) => {
        await page.locator('.cell').first().focus();
        await page.keyboard.press('l');
        await page.keyboard.press('Shift+ArrowDown');
        await page.waitForSelector('.cell[data-selected]');
    }, { notebook: kept }],
    ['an empty notebook', async () => {}],
    ['a draft of code and one of text', async (page) => {
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('x = 1');
        await page.locator('.cell[data-fresh]').getByTitle('Make it text').click();
        await page.keyboard.insertText('# A title\n\nand a [link](https://example.org)');
        await page.keyboard.press('Shift+Enter');
        await page.waitForSelector('.prose h1');
    }],
    ['outputs of all kinds', async (page) => {
        await run(page, 'x = 1\nprint("text")\nerr("warning")\ndf\nimg\nsvg\nmd\n1 + 1');
        await page.waitForSelector('.output:nth-of-type(7)');
        await page.waitForFunction(() => document.querySelectorAll('.cell[data-kind="ran"]').length === 1);
    }],
    ['a long output', async (page) => {
        await run(page, `${'print("line")\n'.repeat(300)}`);
        await page.waitForSelector('.stream[data-boxed]');
    }],
    ['a cell that failed', async (page) => {
        await run(page, '1/0', 'Control+Enter');
        await page.waitForSelector('.failure');
    }],
    ['a cell that runs and one that waits', async (page) => {
        await run(page, 'time.sleep(60)');
        await page.waitForSelector('[data-status="running"]');
        await page.keyboard.insertText('print("then")');
        await page.keyboard.press('Shift+Enter');
        await page.waitForSelector('[data-status="queued"]');
    }],
    ['a cell that asks', async (page) => {
        await run(page, 'name = input("Who? ")');
        await page.waitForSelector('.question');
    }],
    ['a changed cell', async (page) => {
        await page.locator('.cell[data-kind="ran"] .cm-content').last().click();
        await page.keyboard.insertText(' # more');
        await page.waitForSelector('[data-edited]');
    }, { notebook: branches }],
    ['a cell outdated by an earlier one', async (page) => {
        await page.locator('.cell[data-kind="ran"] .cm-content').first().click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText('time.sleep(60)');
        await page.keyboard.press('Control+Enter');
        await page.waitForSelector('[data-outdated]');
    }, { notebook: branches }],
    ['the menu of a cell', cellMenu(), { notebook: branches }],
    ['sharing', top('Share')],
    ['more', top('More')],
    ['the shortcuts', top('More', 'Keyboard shortcuts')],
    ['starting over', top('More', 'Start over')],
    ['a label is asked for', cellMenu('Label…'), { notebook: branches }],
    ['a state to compare with is chosen', cellMenu('Compare with…'), { notebook: branches }],
    ['deleting', cellMenu('Delete this state…'), { notebook: branches }],
    ['a notice', async (page) => {
        await page.locator('.cell[data-fresh] .editor').click();
        await page.keyboard.insertText('x');
        await page.keyboard.press('Escape');
        await page.keyboard.press('d');
        await page.keyboard.press('d');
        await page.waitForSelector('.notice[data-open]');
    }],
    ['a comparison', address('compare=a2..b3'), { notebook: branches }],
    ['a comparison with equal variables unfolded', async (page) => {
        await address('compare=a2..b3')(page);
        await page.locator('summary', { hasText: 'equal' }).click();
    }, { notebook: branches }],
    ['a comparison that needs a replay', address('compare=away..b3'), { notebook: branches }],
    ['a comparison beside the variables', async (page) => {
        await variables(page);
        await address('compare=a2..b3')(page);
    }, { notebook: branches }],
    ['variables', variables, { notebook: branches }],
    ['whole variables', async (page) => {
        await variables(page);
        for (const name of ['df', 'X', 'title']) await page.getByRole('button', { name, exact: true }).click();
        await page.getByRole('button', { name: 'Type', exact: true }).click();
    }, { notebook: branches }],
    ['variables of which none is found', async (page) => {
        await variables(page);
        await page.getByRole('searchbox').fill('nothing reads like this');
        await page.getByText('No variable reads like that.').waitFor();
    }, { notebook: branches }],
    ['the graph has the focus', async (page) => {
        await page.locator('#graph').focus();
        await page.keyboard.press('ArrowUp');
    }, { notebook: branches }],
    ...['load', 'disk', 'restored', 'writing', 'failed', 'only', 'replay', 'foreign', 'gone'].map((id) => [`a state that is "${id}"`, node(id), { notebook: kept }]),
    ['view only', node('restored'), { notebook: kept, scope: 'view' }],
    ['the disk takes nothing', async (page, server) => {
        server.notebook.troubled(TROUBLE);
        await page.waitForSelector('.banner');
    }],
    ['the line is broken', async (page, server) => {
        await server.stop();
        await page.waitForSelector('.banner');
    }, { notebook: branches }],
    ['access has ended', async (page, server) => {
        server.endAccess();
        await page.waitForSelector('.banner[data-bad]');
    }, { notebook: branches }],
    ['a phone', async () => {}, { notebook: branches, ...PHONE }],
    ['a phone with the graph', async (page) => {
        await page.getByRole('button', { name: 'Graph of states' }).click();
        await page.waitForSelector('.left');
    }, { notebook: branches, ...PHONE }],
    ['a phone with variables', variables, { notebook: branches, ...PHONE }],
    ['a comparison on a phone', address('compare=a2..b3'), { notebook: branches, ...PHONE }],
];

for (const [name, lead, { notebook, scope, ...options } = {}] of STATES) {
    test(name, async (t) => {
        const server = await start(0, notebook?.());
        t.after(() => server.stop());
        const page = await openPage(browser, { bypassCSP: true, ...options });
        t.after(() => page.context().close());
        await page.goto(scope ? server.url.replace('secret', scope) : server.url);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await lead(page, server);
        await examine(page);
    });
}

test('the list of notebooks, one that is not there, and signing in', { skip: !process.env.RATOON_BIN }, async (t) => {
    const server = await startServer();
    t.after(() => server.stop());
    const page = await openPage(browser, { bypassCSP: true });
    t.after(() => page.context().close());
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    const { origin } = new URL(server.url);
    for (const path of ['/', '/n/lost']) {
        await page.goto(origin + path);
        await page.getByLabel('New notebook').waitFor();
        await examine(page, path);
    }
    const stranger = await openPage(browser, { bypassCSP: true });
    t.after(() => stranger.context().close());
    await stranger.goto(`${origin}/n/main`);
    await stranger.getByLabel('Token').waitFor();
    await examine(stranger, 'signing in');
});

/** No violation, in light and in dark. */
async function examine(page, what = '') {
    for (const colorScheme of ['light', 'dark']) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        // What comes into sight late is at its end of the way now; what the pointer is on may look otherwise.
        await page.mouse.move(0, 0);
        await page.evaluate(axe);
        const violations = await page.evaluate((values) => window.axe.run(document, {
            runOnly: { type: 'tag', values }, rules: { 'target-size': { enabled: true } }, iframes: false, resultTypes: ['violations'],
        }).then((found) => found.violations.filter(({ id, nodes }) => {
            // In which order headings stand in a text is its author's affair; a node of the graph is called by more than is painted.
            const place = { 'heading-order': '.prose', 'label-content-name-mismatch': '#graph' }[id];
            return !place || nodes.some(({ target }) => !document.querySelector(String(target[0]))?.closest(place));
        }).map(({ id, help, nodes }) => `${id} (${help}):\n${nodes.slice(0, 4).map(({ html, failureSummary }) => `    ${html.slice(0, 160)}\n      ${failureSummary.replaceAll('\n', ' ')}`).join('\n')}`)), TAGS);
        assert.deepEqual(violations, [], `${what} ${colorScheme}:\n${violations.join('\n')}`);
    }
}
