// axe-core examines every state of the page and must find no violation of WCAG 2.2 A and AA, or of
// its own best practices. Each row of `STATES` has the name of a page state and the steps to reach
// it.
//
// These pages are opened without their content security policy, because the test injects axe. All
// other browser tests run with the policy.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { IN_FULL, nightly, openBrowser, startServer } from './browser.mjs';
import { branches, kept, TROUBLE } from './fixture.mjs';
import { afternoon, short, swept } from './graph-fixture.mjs';
import { start } from './mock.mjs';
import { forgive, openPage } from './pages.mjs';

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
    await page.waitForSelector('.variables-pane tbody tr');
};
const address = (hash) => async (page) => {
    await page.evaluate((to) => (location.hash = to), hash);
    await page.waitForSelector('.compare');
};
const cellMenu = (item) => async (page) => {
    const cell = page.locator('.cell[data-kind="ran"]').last();
    await cell.hover();
    await cell.getByLabel('Cell actions').click();
    if (item) await page.getByRole('menuitem', { name: item }).click();
    await page.waitForSelector(item ? 'dialog' : '[role="menuitem"]');
};
const tableOfBranches = async (page) => {
    await page.keyboard.press('F1');
    await page.waitForSelector('#commands li');
    await page.keyboard.type('table of branches');
    await page.keyboard.press('Enter');
    await page.locator('.branches-add input').fill('r2');
    await page.keyboard.press('Enter');
    await page.locator('.branches [data-value="number"]').first().waitFor();
};
const tableOfSweep = async (page) => {
    await page.keyboard.press('F1');
    await page.waitForSelector('#commands li');
    await page.keyboard.type('table of a sweep');
    await page.keyboard.press('Enter');
    await page.locator('.sweep-cell .thumb').first().waitFor();
    await page.locator('.sweep-point').first().waitFor();
    await page.locator('.sweep-columns summary').click();
};
const formOfSweep = async (page) => {
    await cellMenu('Sweep…')(page);
    await page.locator('.sweep-parameter').first().waitFor();
    await page.getByLabel('Values of lr').fill('1, (2');
    await page.locator('.sweep-advanced summary').click();
    await page.locator('.sweep-code .cm-content').waitFor();
};
const grid = async (page) => {
    await run(page, 'display(df)');
    await page.getByRole('button', { name: 'Open large' }).click();
    await page.locator('.grid-cell').first().waitFor();
    await page.keyboard.press('Shift+ArrowDown');
    await page.keyboard.press('f');
    await page.getByLabel('Value', { exact: true }).fill('many');
    await page.keyboard.press('Enter');
    await page.locator('.grid-form .trouble', { hasText: 'not a number' }).waitFor();
};
const gridInPlace = async (page) => {
    await run(page, 'display(df)');
    await page.getByRole('button', { name: 'Show as grid' }).click();
    await page.locator('.grid-cell').first().waitFor();
};
const top = (button, item) => async (page) => {
    await page.getByRole('button', { name: button }).click();
    if (item) await page.getByRole('menuitem', { name: item }).click();
    await page.waitForSelector(item ? 'dialog, .notice[data-open]' : '[role="menuitem"], dialog');
};

/**
 * A name, the steps to reach the state, and options: the stand-in's notebook, the scope, the number
 * of other participants, whether the pointer stays in place, files that do not arrive, and the
 * viewport.
 * @typedef {[string, (page: any, server: any) => Promise<void>, {notebook?: () => object,
 *   scope?: string, people?: number, stays?: boolean, withheld?: RegExp, viewport?: object}?]}
 *   ShownState
 */

/** @type {ShownState[]} */
const STATES = [
    [
        'completions below a signature',
        async (page) => {
            await run(page, 'print(1, ra', 'Control+Space');
            await page.waitForSelector('.completions li');
            await page.keyboard.press('Escape');
            await page.keyboard.type(', ra');
            await page.waitForSelector('.tip');
            await page.keyboard.press('Control+Space');
            await page.waitForSelector('.completions li');
        },
    ],
    [
        'documentation of the name at the cursor',
        async (page) => {
            await run(page, 'print', 'Shift+Tab');
            await page.waitForSelector('.tip');
            await page.keyboard.press('Shift+Tab');
            await page.waitForSelector('.tip[data-size="whole"]');
        },
    ],
    [
        'finding and replacing',
        async (page) => {
            await page.keyboard.press('Control+h');
            await page.waitForSelector('.find-panel input:focus');
            await page.keyboard.type('df');
            await page.waitForSelector('.found-here');
        },
        { notebook: kept },
    ],
    [
        'the palette',
        async (page) => {
            await page.keyboard.press('F1');
            await page.waitForSelector('#commands li');
        },
        { notebook: kept },
    ],
    [
        'several cells selected, with line numbers',
        async (page) => {
            await page.locator('.cell').first().focus();
            await page.keyboard.press('l');
            await page.keyboard.press('Shift+ArrowDown');
            await page.waitForSelector('.cell[data-selected]');
        },
        { notebook: kept },
    ],
    ['an empty notebook', async () => {}],
    [
        'a draft of code and one of text',
        async (page) => {
            await page.locator('.cell[data-fresh] .editor').click();
            await page.keyboard.insertText('x = 1');
            // The next cell is the empty one now.
            await page.waitForSelector('.cell[data-kind="draft"]:not([data-fresh]) ~ .cell[data-fresh]');
            await page.locator('.cell[data-fresh]').hover();
            await page.locator('.cell[data-fresh]').getByTitle('Convert to Markdown').click();
            await page.keyboard.insertText('# A title\n\nand a [link](https://example.org)');
            await page.keyboard.press('Shift+Enter');
            await page.waitForSelector('.prose h1');
        },
    ],
    [
        'outputs of all kinds',
        async (page) => {
            await run(page, 'x = 1\nprint("text")\nerr("warning")\ndf\nimg\nsvg\nmd\n1 + 1');
            await page.waitForSelector('.output:nth-of-type(7)');
            await page.waitForFunction(
                () => document.querySelectorAll('.cell[data-kind="ran"]').length === 1,
            );
        },
    ],
    [
        'a long output',
        async (page) => {
            await run(page, `${'print("line")\n'.repeat(300)}`);
            await page.waitForSelector('.stream[data-boxed]');
        },
    ],
    [
        'kept outputs, one of another branch',
        async (page) => {
            const keep = async () => {
                const output = page.locator('.cell .output').first();
                await output.hover();
                await output.getByRole('button', { name: 'Keep in view' }).click();
            };
            await run(page, 'print("text")\ndf\nimg');
            await page.waitForSelector('.frame-place[data-ready]');
            await page.locator('.cell[data-kind="ran"] .image').waitFor();
            await keep();
            await page.locator('.kept .image').waitFor();
            await node('initial')(page);
            await run(page, '1/0', 'Control+Enter');
            await page.waitForSelector('.error-view');
            await keep();
            await page.locator('.kept-status', { hasText: 'Other branch' }).waitFor();
            await page.locator('.kept-status', { hasText: 'failed' }).waitFor();
        },
    ],
    [
        'a cell that failed',
        async (page) => {
            await run(page, '1/0', 'Control+Enter');
            await page.waitForSelector('.error-view');
        },
    ],
    [
        'a cell that runs and one that waits',
        async (page) => {
            await run(page, 'time.sleep(60)');
            await page.waitForSelector('[data-status="running"]');
            await page.keyboard.insertText('print("then")');
            await page.keyboard.press('Shift+Enter');
            await page.waitForSelector('[data-status="queued"]');
        },
    ],
    [
        'a cell that asks for input',
        async (page) => {
            await run(page, 'name = input("Who? ")');
            await page.waitForSelector('.input-prompt');
        },
    ],
    [
        'a changed cell',
        async (page) => {
            await page.locator('.cell[data-kind="ran"] .cm-content').last().click();
            await page.keyboard.insertText(' # more');
            await page.waitForSelector('[data-edited]');
        },
        { notebook: branches },
    ],
    [
        'a cell outdated by an earlier one',
        async (page) => {
            await page.locator('.cell[data-kind="ran"] .cm-content').first().click();
            await page.keyboard.press('Control+A');
            await page.keyboard.insertText('time.sleep(60)');
            await page.keyboard.press('Control+Enter');
            await page.waitForSelector('[data-outdated]');
        },
        { notebook: branches },
    ],
    ['the menu of a cell', cellMenu(), { notebook: branches }],
    [
        'the button between two cells',
        async (page) =>
            page
                .locator('.insert')
                .nth(1)
                .hover({ position: { x: 200, y: 5 } }),
        { notebook: branches },
    ],
    [
        'collapsed code',
        async (page) => {
            await page.locator('.cell').nth(1).focus();
            await page.keyboard.press('Shift+O');
            await page.waitForSelector('.folded-code');
        },
        { notebook: branches },
    ],
    ['sharing', top('Share')],
    ['more', top('More')],
    ['the settings', top('More', 'Settings…')],
    ['the settings, on a phone', top('More', 'Settings…'), PHONE],
    ['the shortcuts', top('More', 'Keyboard shortcuts')],
    [
        'the question before a restart',
        async (page) => {
            await run(page, 'time.sleep(60)');
            await page.waitForSelector('[data-status="running"]');
            await top('More', /^Restart$/)(page);
        },
    ],
    ['deleted states', top('More', 'Deleted states…')],
    ['the question before a reset', top('More', 'Reset notebook…')],
    ['the dialog for a label', cellMenu('Label…'), { notebook: branches }],
    ['the dialog for variants of a cell', cellMenu('Try variants…'), { notebook: branches }],
    ['the dialog of a sweep', formOfSweep, { notebook: swept }],
    ['the dialog of a sweep, on a phone', formOfSweep, { notebook: swept, ...PHONE }],
    ['the table of a sweep', tableOfSweep, { notebook: swept }],
    ['the table of a sweep, on a phone', tableOfSweep, { notebook: swept, ...PHONE }],
    ['the table of branches', tableOfBranches, { notebook: branches }],
    ['the table of branches, on a phone', tableOfBranches, { notebook: branches, ...PHONE }],
    ['a data frame as a grid', grid],
    ['a data frame as a grid in its output', gridInPlace],
    ['a data frame as a grid in its output, on a phone', gridInPlace, PHONE],
    ['a data frame as a grid, on a phone', grid, PHONE],
    ['the dialog that chooses a state to compare with', cellMenu('Compare with…'), { notebook: branches }],
    [
        'a deletion that can be undone',
        async (page) => {
            await cellMenu()(page);
            await page.getByRole('menuitem', { name: 'Delete this state' }).first().click();
            await page.waitForSelector('.notice[data-open]');
        },
        { notebook: branches },
    ],
    [
        'a notice',
        async (page) => {
            await page.locator('.cell[data-fresh] .editor').click();
            await page.keyboard.insertText('x');
            await page.keyboard.press('Escape');
            await page.keyboard.press('d');
            await page.keyboard.press('d');
            await page.waitForSelector('.notice[data-open]');
        },
    ],
    ['a comparison', address('compare=a2..b3'), { notebook: branches }],
    [
        'a comparison with equal variables unfolded',
        async (page) => {
            await address('compare=a2..b3')(page);
            await page.locator('summary', { hasText: 'equal' }).click();
        },
        { notebook: branches },
    ],
    ['a comparison that needs a replay', address('compare=away..b3'), { notebook: branches }],
    [
        'a comparison beside the variables',
        async (page) => {
            await variables(page);
            await address('compare=a2..b3')(page);
        },
        { notebook: branches },
    ],
    ['variables', variables, { notebook: branches }],
    [
        'whole variables',
        async (page) => {
            await variables(page);
            for (const name of ['df', 'X', 'title'])
                await page.getByRole('button', { name, exact: true }).click();
            await page.getByRole('button', { name: 'Type', exact: true }).click();
        },
        { notebook: branches },
    ],
    [
        'a filter that matches no variable',
        async (page) => {
            await variables(page);
            await page.getByRole('searchbox').fill('nothing reads like this');
            await page.getByText('No matching variables.').waitFor();
        },
        { notebook: branches },
    ],
    [
        'a graph with the focus',
        async (page) => {
            await page.locator('#graph').focus();
            await page.keyboard.press('ArrowUp');
        },
        { notebook: branches },
    ],
    ...['load', 'disk', 'restored', 'writing', 'failed', 'only', 'replay', 'foreign'].map(
        (id) =>
            /** @type {ShownState} */ ([`the state "${id}" of the fixture`, node(id), { notebook: kept }]),
    ),
    [
        'a deleted state that a link leads to',
        async (page) => {
            await page.evaluate(() => (location.hash = 'gone'));
            await page.waitForSelector('.row[data-here][data-status="deleted"]');
        },
        { notebook: kept },
    ],
    ['view only', node('restored'), { notebook: kept, scope: 'view' }],
    [
        'a disk that cannot be written',
        async (page, server) => {
            server.notebook.troubled(TROUBLE);
            await page.waitForSelector('.banner');
        },
    ],
    [
        'a lost connection',
        async (page, server) => {
            await server.stop();
            await page.waitForSelector('.banner');
        },
        { notebook: branches },
    ],
    [
        'access that has ended',
        async (page, server) => {
            server.endAccess();
            await page.waitForSelector('.banner[data-bad]');
        },
        { notebook: branches },
    ],
    [
        'other people in the notebook',
        async (page) => {
            await page.getByRole('group', { name: 'People viewing this notebook' }).waitFor();
            await page.locator('.row .standing').first().waitFor();
        },
        { notebook: short, people: 3 },
    ],
    [
        'following another person',
        async (page) => {
            await page.locator('.avatars > .avatar').last().click();
            await page.locator('.following span').waitFor();
        },
        { notebook: short, people: 3 },
    ],
    [
        'many people, on a phone',
        async (page) => {
            await page.locator('.rest .avatar').click();
            await page.waitForSelector('[role="menuitem"]');
        },
        { notebook: short, people: 7, ...PHONE },
    ],
    [
        'the card of a state',
        async (page) => {
            await page.locator('.row[data-node="j"]').hover();
            await page.waitForSelector('.node-card');
        },
        { notebook: short, stays: true },
    ],
    [
        'the graph with folded lines',
        async (page) => page.waitForSelector('.row[data-fold]'),
        { notebook: afternoon },
    ],
    [
        'a search in the graph',
        async (page) => {
            await page.locator('#graph').focus();
            await page.keyboard.press('/');
            await page.keyboard.insertText('df');
            await page.waitForSelector('.row[data-dim]');
        },
        { notebook: afternoon },
    ],
    [
        'the menu of a state in the graph',
        async (page) => {
            await page.locator('.row[data-node="i"]').click({ button: 'right' });
            await page.waitForSelector('[role="menuitem"]');
        },
        { notebook: short },
    ],
    [
        'two states are marked to be compared',
        async (page) => {
            await page.locator('.row[data-node="j"]').click({ modifiers: ['Shift'] });
            await page.waitForSelector('.row[data-compared]');
            await page.waitForSelector('.compare');
        },
        { notebook: short },
    ],
    [
        'a comparison whose view is still loading',
        async (page) => {
            await page.locator('.row[data-node="j"]').click({ modifiers: ['Shift'] });
            await page.waitForSelector('.row[data-compared]');
            await page.getByText('Loading…').waitFor();
        },
        // The program has one bundle for all parts of the page. An idle page loads it early.
        { notebook: short, withheld: /\/(compare-view|notebook-later)\.js$/ },
    ],
    [
        'a state that is being deleted',
        async (page) => {
            await page.locator('#graph').focus();
            await page.keyboard.press('End');
            await page.keyboard.press('Delete');
            await page.waitForSelector('.notice[data-open]');
        },
        { notebook: short },
    ],
    [
        'finding, on a phone',
        async (page) => {
            await page.locator('.cell').first().focus();
            await page.keyboard.press('Control+h');
            await page.waitForSelector('.find-panel input:focus');
            await page.keyboard.type('df');
            await page.waitForSelector('.found-here');
        },
        { notebook: kept, ...PHONE },
    ],
    ['sharing, on a phone', top('More', 'Share…'), PHONE],
    ['the shortcuts, on a phone', top('More', 'Keyboard shortcuts'), PHONE],
    ['a phone', async () => {}, { notebook: branches, ...PHONE }],
    [
        'a phone with the graph',
        async (page) => {
            await page.getByRole('button', { name: 'Graph of states' }).click();
            await page.waitForSelector('.graph-pane');
        },
        { notebook: branches, ...PHONE },
    ],
    ['a phone with variables', variables, { notebook: branches, ...PHONE }],
    ['a comparison on a phone', address('compare=a2..b3'), { notebook: branches, ...PHONE }],
    ['a comparison of four states', address('compare=a1..a2..b2..b3'), { notebook: branches }],
    [
        'a comparison of three states, on a phone',
        address('compare=a1..a2..b3'),
        { notebook: branches, ...PHONE },
    ],
];

for (const [i, [name, lead, state = {}]] of STATES.entries()) {
    const { notebook, scope, people = 0, stays, withheld, ...options } = state;
    // Every fifth state is an example.
    test(name, i % 12 ? nightly() : {}, async (t) => {
        const server = await start(0, notebook?.());
        t.after(() => server.stop());
        server.notebook.people = Array.from({ length: people }, (_, i) => ({
            id: `p${i}`,
            number: i + 1,
            name: i ? `Person ${i}` : null,
            scope: 'run',
            state: 'h',
        }));
        const page = await openPage(browser, { bypassCSP: true, ...options });
        t.after(() => page.context().close());
        if (withheld) await page.route(withheld, () => {});
        await page.goto(scope ? server.url.replace('secret', scope) : server.url);
        await page.waitForSelector('.notebook[aria-busy="false"]');
        await lead(page, server);
        await examine(page, '', stays);
        // Ignore the browser's messages about the lost connection.
        forgive(page, /WebSocket connection|net::ERR_/);
    });
}

const real = { skip: !process.env.RATOON_BIN };

/** Opens a page on the real server. The page and the server are closed after the test. */
async function onServer(t, options = {}) {
    const server = await startServer();
    t.after(() => server.stop());
    const page = await openPage(browser, { bypassCSP: true, ...options });
    t.after(() => page.context().close());
    await page.goto(server.url);
    await page.waitForSelector('.notebook[aria-busy="false"]');
    return { page, origin: new URL(server.url).origin };
}
const ran = (page, count) =>
    page.waitForFunction((n) => document.querySelectorAll('.cell[data-kind="ran"]').length === n, count);

test('completions and documentation from Python', real, async (t) => {
    const { page } = await onServer(t);
    await run(page, 'text = "a"');
    await ran(page, 1);
    await run(page, 'text.sp', 'Control+Space');
    await page.waitForSelector('.completions li');
    await examine(page, 'completions');
    await page.keyboard.press('Escape');
    await page.keyboard.insertText('lit(');
    await page.keyboard.press('Shift+Tab');
    await page.waitForSelector('.tip');
    await examine(page, 'signature');
    await page.keyboard.press('Shift+Tab');
    await page.waitForSelector('.tip[data-size="whole"]');
    await examine(page, 'documentation');
});

test('outputs of the real libraries', nightly(real), async (t) => {
    const { page } = await onServer(t);
    await run(
        page,
        'from IPython.display import *\nSVG(\'<svg width="300" height="100"><rect width="300" height="100" fill="teal"/></svg>\')',
    );
    await page.waitForSelector('.image');
    await page.locator('.output').hover();
    await page.getByRole('button', { name: 'Save image' }).waitFor();
    await examine(page, 'the tools of an image', true);
    await page.locator('.picture .view').click();
    await page.locator('dialog.full-size[open] img').waitFor();
    await examine(page, 'an image in full size');
    await page.keyboard.press('Escape');
    await run(page, 'JSON({"big": list(range(3000)), "nested": {"a": [None, True, "text", 1.5]}})');
    await ran(page, 2);
    await page.locator('.tree [role="treeitem"]').first().focus();
    for (const key of ['ArrowDown', 'ArrowRight']) await page.keyboard.press(key);
    await page.waitForSelector('.tree .leaf');
    await examine(page, 'a tree of data');
    await run(
        page,
        'display(Math(r"\\\\frac{a}{b}"), HTML("<p>in a frame</p>"))\nprint("https://example.org", "\\x1b[31mred\\x1b[0m \\x1b[1;32mgreen\\x1b[0m")',
    );
    await ran(page, 3);
    await page.waitForSelector('.katex');
    await examine(page, 'formula, frame, colours');
    await run(
        page,
        'def f(n):\n    if n == 0: raise ValueError("deep")\n    g(n)\ndef g(n):\n    f(n - 1)\nf(10)',
        'Control+Enter',
    );
    await page.waitForSelector('.error-view');
    await examine(page, 'a folded traceback');
    await page.locator('.error-view .text-button').click();
    await examine(page, 'a whole traceback');
});

test('the button that follows a long output again', nightly(real), async (t) => {
    const { page } = await onServer(t);
    await run(
        page,
        'import sys, time\nfor i in range(400): print("line", i, file=(sys.stdout, sys.stderr)[i // 10 % 2])\ntime.sleep(600)',
        'Control+Enter',
    );
    await page.waitForFunction(() => document.querySelector('.outputs')?.textContent.includes('line 399'));
    await page.locator('main').hover();
    await page.mouse.wheel(0, -900);
    await page.locator('.follow .button').waitFor();
    await examine(page, 'the button');
});

const FILE = JSON.stringify({
    nbformat: 4,
    nbformat_minor: 5,
    metadata: {},
    cells: [
        {
            cell_type: 'code',
            id: 'a',
            metadata: {},
            execution_count: 4,
            source: '1 + 1',
            outputs: [
                { output_type: 'stream', name: 'stdout', text: 'there\n' },
                { output_type: 'stream', name: 'stderr', text: 'a warning\n' },
                {
                    output_type: 'error',
                    ename: 'ValueError',
                    evalue: 'bad',
                    traceback: ['\x1b[31mValueError\x1b[0m: bad'],
                },
                {
                    output_type: 'display_data',
                    metadata: {},
                    data: { 'text/plain': 'plain', 'text/html': '<b>rich</b>' },
                },
            ],
        },
    ],
});

test('the list of notebooks, imported and exported files, and signing in', real, async (t) => {
    const { page, origin } = await onServer(t);
    await page.evaluate(
        (body) =>
            fetch('/api/notebooks/import?name=from%20a%20file', {
                method: 'POST',
                headers: { 'content-type': 'application/json' },
                body,
            }),
        FILE,
    );
    await page.goto(`${origin}/n/from%20a%20file`);
    await page.waitForSelector('.outputs[data-status="imported"]');
    await examine(page, 'outputs of an imported file');

    await page.evaluate(() =>
        fetch('/api/files/a.csv', {
            method: 'PUT',
            headers: { 'content-type': 'application/octet-stream' },
            body: 'a,b\n1,2\n',
        }),
    );
    await page.getByRole('button', { name: 'Files' }).click();
    await page.locator('[data-name="a.csv"] .file-name').click();
    await page.locator('.grid-cell').first().waitFor();
    await examine(page, 'a table of the files pane');
    await page.getByRole('button', { name: 'Show as text' }).click();
    await page.waitForSelector('.file-text');
    await examine(page, 'a file of the files pane');
    await page.keyboard.press('Escape');
    await page.keyboard.press('Delete');
    await page.locator('.notice').getByRole('button', { name: 'Undo' }).waitFor();
    await examine(page, 'the files pane, and the notice after a deletion');
    await page.getByRole('button', { name: 'Deleted files…' }).click();
    await page.getByRole('button', { name: 'Restore a.csv' }).waitFor();
    await examine(page, 'deleted files');
    await page.keyboard.press('Escape');

    const shown = await page.evaluate(() =>
        fetch('/api/notebooks/from%20a%20file/states/initial/document?as=html').then((file) => file.text()),
    );
    const file = await openPage(browser, { bypassCSP: true });
    t.after(() => file.context().close());
    await file.setContent(shown);
    await examine(file, 'an exported page');

    for (const path of ['/', '/n/lost']) {
        await page.goto(origin + path);
        await page
            .getByLabel('New notebook')
            .or(page.getByRole('button', { name: 'New notebook' }))
            .first()
            .waitFor();
        await examine(page, path);
    }
    await page.goto(`${origin}/`);
    await page.getByLabel('Actions for from a file').click();
    await page.waitForSelector('[role="menuitem"]');
    await examine(page, 'the menu of a notebook');
    await page.getByRole('menuitem', { name: 'Delete' }).click();
    await page.waitForSelector('dialog[open]');
    await examine(page, 'deleting a notebook');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'New notebook' }).click();
    await page.waitForSelector('dialog[open]');
    await page.setViewportSize(PHONE.viewport);
    await examine(page, 'a new notebook, on a phone');
    await page.keyboard.press('Escape');
    await page.evaluate(() => {
        const dataTransfer = new DataTransfer();
        dataTransfer.items.add(new File(['x'], 'x.txt'));
        document.body.dispatchEvent(
            new DragEvent('dragenter', { dataTransfer, bubbles: true, cancelable: true }),
        );
    });
    await page.waitForSelector('.drop-overlay');
    await examine(page, 'a file dragged over the list, on a phone');

    const stranger = await openPage(browser, { bypassCSP: true });
    t.after(() => stranger.context().close());
    await stranger.goto(`${origin}/n/main`);
    await stranger.getByLabel('Token').waitFor();
    await examine(stranger, 'signing in');
    forgive(page, /status of 404/);
    forgive(stranger, /status of 40[134]/);
});

const THEMES = ['light', 'dark'];
let examined = 0;

/**
 * Fails on any violation. The nightly run examines every state in both themes; otherwise they take
 * turns.
 */
async function examine(page, what = '', stays = false) {
    examined += 1;
    for (const colorScheme of IN_FULL ? THEMES : [THEMES[examined % THEMES.length]]) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        // Move the pointer away, because hovered elements may look different. Reduced motion has
        // ended all animations.
        if (!stays) await page.mouse.move(0, 0);
        if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe);
        const violations = await page.evaluate(
            (values) =>
                window.axe
                    .run(document, {
                        runOnly: { type: 'tag', values },
                        rules: { 'target-size': { enabled: true } },
                        iframes: false,
                        resultTypes: ['violations'],
                    })
                    .then((found) =>
                        found.violations
                            .flatMap(({ id, help, nodes }) => {
                                // Exceptions: authors choose the order of headings in their text.
                                // The accessible name of a graph node contains more than its
                                // visible text, that of a JSON branch less (its children have
                                // names), and that of an avatar is the name behind the initials.
                                const place = {
                                    'heading-order': '.prose',
                                    'label-content-name-mismatch': '#graph, .tree, .avatars',
                                }[id];
                                if (!place) return [{ id, help, nodes }];
                                const others = nodes.filter(({ target }) => {
                                    const one = document.querySelector(String(target[0]));
                                    // The element may be gone: a participant may have left.
                                    return one !== null && !one.closest(place);
                                });
                                return others.length > 0 ? [{ id, help, nodes: others }] : [];
                            })
                            .map(
                                ({ id, help, nodes }) =>
                                    `${id} (${help}):\n${nodes
                                        .slice(0, 4)
                                        .map(
                                            ({ html, failureSummary }) =>
                                                `    ${html.slice(0, 160)}\n      ${failureSummary.replaceAll('\n', ' ')}`,
                                        )
                                        .join('\n')}`,
                            ),
                    ),
            TAGS,
        );
        assert.deepEqual(violations, [], `${what} ${colorScheme}:\n${violations.join('\n')}`);
    }
}
