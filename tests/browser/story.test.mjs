// The page in a real browser, on the binary that RATOON_BIN names or on the stand-in. The cells
// contain only Python that the stand-in can simulate.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import {
    focused,
    forgive,
    onBranch,
    open,
    openFar,
    page,
    prints,
    ran,
    rows,
    run,
    sees,
    test,
    testWithoutPage,
    texts,
    three,
} from './harness.mjs';

test('the page runs three cells, goes back to the first, branches, and survives a reload in the middle of a run', async () => {
    assert.ok(!page.url().includes('token'), 'the address bar holds no token');
    await three();
    assert.deepEqual(await texts('.stream'), ['one', 'two', 'three']);

    await page.locator('.row').nth(1).click();
    await ran(1);
    assert.deepEqual(await texts('.stream'), ['one']);
    await run('print("branch")');
    await ran(2);
    assert.deepEqual(await texts('.stream'), ['one', 'branch']);
    assert.deepEqual(await rows(), ['Start', 'x = 1', 'print("branch")', 'x = x + 1', 'x = x + 1']);
    const lanes = await page.$$eval('.mark', (all) =>
        all.map((one) => one.style.transform.match(/\((\d+)/)[1]),
    );
    assert.equal(new Set(lanes).size, 2, 'two branches have two lanes');

    await run('import time\nprint("before")\ntime.sleep(1.5)\nprint("after")');
    await prints('before');
    await page.reload();
    await prints('after');
    await ran(3);
    assert.deepEqual(await texts('.stream'), ['one', 'branch', 'before\nafter']);

    await page.goBack();
    assert.ok(!page.url().includes('token'), 'the address holds no token after going back');
});

test('two tabs show the same runs and the same typing', async () => {
    await three();
    const other = await open(page.url(), { storageState: await page.context().storageState() });
    await ran(3, other);
    await run('print("from the other tab")', 'Shift+Enter', other);
    await ran(4, other);
    await page.locator('.row').nth(4).click();
    await ran(4);
    assert.deepEqual(await texts('.stream'), await texts('.stream', other));

    await page.locator('.cell[data-fresh] .editor').click();
    await page.keyboard.insertText('half a thou');
    await sees('half a thou', other);
    await other.locator('.cell[data-kind="draft"]:not([data-fresh]) .editor').click();
    await other.keyboard.press('Control+End');
    await other.keyboard.insertText('ght');
    await sees('half a thought');
});

test(
    'running a changed cell adds a sibling state, and the later cells become drafts',
    nightly(),
    async () => {
        await three();
        const second = page.locator('.cell[data-kind="ran"]').nth(1);
        await second.locator('.editor').click();
        await page.keyboard.press('Control+A');
        await page.keyboard.insertText('x = 20\nprint("changed")');
        await page.keyboard.press('Control+Enter');
        await ran(2);
        await onBranch(2, 2);
        assert.deepEqual(await texts('.cell[data-kind="ran"] .stream'), ['one', 'changed']);
        assert.deepEqual(await texts('.stale .stream'), ['three']);
        assert.deepEqual(await texts('.cell[data-kind="draft"]:not([data-fresh]) .editor'), [
            'x = x + 1print("three")',
        ]);
        await page.getByRole('tab').first().click();
        await ran(3);
        assert.deepEqual(await texts('.stream'), ['one', 'two', 'three'], 'the old lineage is unchanged');
    },
);

test('a cell beside others has a tab for each; tabs keep their place, and keys show the next', async () => {
    await run('x = 1');
    await ran(1);
    const names = ['PCA', 'Isomap', 'LDA'];
    for (const name of names) {
        await page.locator('.row').nth(1).click();
        await run(`y = "${name}"\nprint(y)`);
        await ran(2);
    }
    const tabs = () => texts('.branch-tab .told');
    await becomes(
        tabs,
        names.map((name) => `y = "${name}"`),
    );
    await onBranch(3, 3);
    const place = () => page.locator('.branch-tabs').evaluate((one) => one.getBoundingClientRect().top);
    const before = await place();
    await page.getByRole('tab', { name: 'PCA' }).click();
    await onBranch(1, 3);
    assert.deepEqual(await texts('.stream'), ['PCA']);
    assert.equal(
        await page.evaluate(() => document.activeElement.querySelector('.told').textContent),
        'y = "PCA"',
    );
    assert.equal(await place(), before);

    await page.locator('.cell').nth(1).focus();
    await page.keyboard.press('[');
    await page.keyboard.press(']');
    await onBranch(2, 3);
    await focused([1, 'cell']);
    // Also from the cells below, which belong to that branch.
    await page.locator('.cell').nth(2).focus();
    await page.keyboard.press(']');
    await onBranch(3, 3);
    await focused([1, 'cell']);
    await page.keyboard.press('[');
    await onBranch(2, 3);
    await page.getByRole('tab', { name: 'Isomap' }).dblclick();
    await page.keyboard.insertText('curved');
    await page.keyboard.press('Enter');
    await becomes(tabs, ['y = "PCA"', 'curved', 'y = "LDA"']);
    await page.locator('.branch-tabs').getByRole('button', { name: 'Compare' }).click();
    await page.waitForSelector('.compare');
    await page.getByRole('heading', { name: 'Compare 3 states' }).waitFor();
});

test('a failure is a red leaf; its draft stays and can be corrected', async () => {
    await run('1/0', 'Control+Enter');
    await sees('ZeroDivisionError');
    await page.waitForSelector('.row[data-status="error"]');
    assert.deepEqual(await texts('.row[data-status="error"] .said'), ['failed']);
    assert.equal(await page.locator('.cell[data-kind="ran"]').count(), 0);
    await page.locator('.cell[data-status="error"] .editor').click();
    await page.keyboard.press('Control+A');
    await page.keyboard.insertText('print("put right")');
    await page.keyboard.press('Shift+Enter');
    await ran(1);
    assert.deepEqual(await texts('.stream'), ['put right']);
});

test('cells wait for each other, and the running cell can be stopped', async () => {
    await run('import time\nprint("long")\ntime.sleep(60)');
    await prints('long');
    await run('print("never")');
    await page.waitForSelector('.row[data-status="queued"]');
    await page.locator('.cell[data-status="running"] [data-stop]').click();
    await page.waitForSelector('.cell[data-status="interrupted"]');
    await sees('The changes that this cell made to variables were undone.');
    await page.waitForFunction(() => !document.querySelector('.cell[data-status="queued"]'));
    assert.equal(await page.locator('.cell[data-kind="ran"]').count(), 0);
});

test('a cell can ask for input and gets the answer', async () => {
    await run('name = input("Who? ")\nprint("Hello " + name)', 'Control+Enter');
    const input = page.locator('.input-prompt input');
    await input.fill('Ada');
    await input.press('Enter');
    await ran(1);
});

test('text between cells is rendered and sanitized', async () => {
    await page.locator('.cell[data-fresh]').getByRole('button', { name: 'Text' }).click();
    await page.waitForSelector('.cell[data-text] .cm-editor');
    await page.keyboard.insertText('# A title\n\nand <img src=x onerror="document.title=1"> *words*');
    await page.keyboard.press('Shift+Enter');
    await page.waitForSelector('.prose h1');
    assert.equal(await page.locator('.prose [onerror]').count(), 0);
    await run('print("below")');
    await ran(1);
    assert.equal(await page.locator('.cell[data-kind="text"] .prose h1').textContent(), 'A title');
    // Chromium reports the blocked handler while the sanitizer parses the text.
    forgive(page, /inline event handler/);
});

test('HTML of an output is in a sandboxed frame and reaches neither the page nor cookies', async () => {
    const attack =
        "<p id='seen'>shown</p><script>let got = 'nothing'; try { got = parent.document.title } catch {} try { got = document.cookie } catch {} document.getElementById('seen').textContent = 'got ' + got</script>";
    await run(`from IPython.display import HTML\nHTML("${attack}")`);
    await ran(1);
    const frame = page.frameLocator('iframe.frame');
    await frame.getByText('got nothing').waitFor();
    assert.equal(await page.locator('iframe.frame').getAttribute('sandbox'), 'allow-scripts');
    await page.waitForFunction(() => document.querySelector('iframe.frame').clientHeight > 10);
});

test('100,000 lines never block a frame for two seconds', nightly(), async () => {
    await page.evaluate(() => {
        window.longest = 0;
        let last = performance.now();
        const beat = () => {
            const now = performance.now();
            window.longest = Math.max(window.longest, now - last);
            last = now;
            requestAnimationFrame(beat);
        };
        beat();
    });
    await run('for i in range(100_000): print(i)');
    await ran(1);
    await prints('99999');
    assert.ok((await page.evaluate(() => window.longest)) < 2000);
});

testWithoutPage('when the connection breaks, typing continues and no output is lost', async (t) => {
    const { line, far } = await openFar(t);
    await run('import time\nfor i in range(8): print(i); time.sleep(0.25)', 'Shift+Enter', far);
    await prints('1', far);
    line.cut();
    await far.waitForSelector('.banner');
    await far.keyboard.insertText('typed while offline');
    line.heal();
    await far.waitForSelector('.banner', { state: 'detached' });
    await ran(1, far);
    assert.deepEqual(await texts('.stream', far), ['0\n1\n2\n3\n4\n5\n6\n7']);
    const witness = await open(far.url(), { storageState: await far.context().storageState() });
    await sees('typed while offline', witness);
    // The browser's errors about the lost connection are expected.
    forgive(far, /net::ERR_|WebSocket connection/);
});

testWithoutPage(
    'a cell that is run while the connection is down waits for the server, and says so',
    nightly(),
    async (t) => {
        const { line, far } = await openFar(t);
        line.cut();
        await far.waitForSelector('.banner');
        await run('print("at last")', 'Shift+Enter', far);
        await far
            .locator('.cell[data-status="queued"] .notes', { hasText: 'waiting for the server' })
            .waitFor();
        line.heal();
        await prints('at last', far);
        await ran(1, far);
        assert.equal(await far.getByText('waiting for the server').count(), 0);
        forgive(far, /net::ERR_|WebSocket connection/);
    },
);

test('cells can be chosen, edited, run, inserted and deleted without a mouse', nightly(), async () => {
    await three();
    await page.keyboard.press('Escape');
    await page.keyboard.press('ArrowUp');
    assert.equal(await page.evaluate(() => document.activeElement.getAttribute('aria-label')), 'Cell 3');
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('\nprint("more")');
    await page.keyboard.press('Shift+Enter');
    await onBranch(2, 2);
    await ran(3);
    await page.keyboard.press('Escape');
    await page.keyboard.press('b');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() =>
        document.activeElement
            .closest('.cell[data-kind="draft"]:not([data-fresh])')
            ?.matches(':has(.cm-content:focus)'),
    );
    await page.keyboard.insertText('draft');
    await page.keyboard.press('Escape');
    assert.deepEqual((await texts('.cell[data-kind="draft"] .editor'))[0], 'draft');
    await page.keyboard.press('d');
    await page.keyboard.press('d');
    await page.waitForFunction(() => document.querySelectorAll('.cell[data-kind="draft"]').length === 1);
});

test('a viewer sees all cells and is offered no action', nightly(), async () => {
    await three();
    const token = await page.evaluate(async () => {
        const answer = await fetch('/api/links', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: '{"scope":"view"}',
        });
        return (await answer.json()).token;
    });
    const guest = await open(`${new URL(page.url()).origin}/n/main?token=${token}`);
    await ran(3, guest);
    assert.equal(await guest.locator('.cell[data-kind="draft"]').count(), 0);
    assert.equal(await guest.locator('.tools button').count(), 0);
    assert.equal(await guest.getByRole('button', { name: 'Share' }).count(), 0);
    assert.equal(await guest.locator('.cm-content[contenteditable="true"]').count(), 0);
    await run('print("live")');
    await guest.waitForFunction(() => document.querySelectorAll('.row').length === 5);
});

test('arrow keys and Enter go to states in the graph', nightly(), async () => {
    await three();
    await page.locator('#graph').focus();
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('ArrowUp');
    await page.keyboard.press('Enter');
    await ran(1);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await ran(2);
});

test('a state can be labelled and deleted, and the notebook can be reset', nightly(), async () => {
    await three();
    const menu = async (cell, item) => {
        await page.locator('.cell[data-kind="ran"]').nth(cell).hover();
        await page.locator('.cell[data-kind="ran"]').nth(cell).getByLabel('Cell actions').click();
        await page.getByRole('menuitem', { name: item }).click();
    };
    await menu(0, 'Label…');
    await page.locator('dialog input').fill('loaded "><b>data');
    await page.keyboard.press('Enter');
    await page.waitForFunction(
        () => document.querySelector('.row:nth-of-type(2) .what')?.textContent === 'loaded "><b>data',
    );
    await menu(2, 'Delete this state');
    await ran(2);
    await page.locator('.notice', { hasText: 'Deleted 1 state.' }).waitFor();
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 3);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Reset notebook…' }).click();
    await page.waitForSelector('dialog[open] input:focus');
    await page.keyboard.insertText('main');
    await page.getByRole('button', { name: 'Reset notebook' }).click();
    await page.waitForFunction(() => document.querySelectorAll('.row').length === 1);
});

test('the variables pane lists the variables of the current state', nightly(), async () => {
    await three();
    await page.getByRole('button', { name: 'Variables' }).click();
    await page.waitForSelector('.variables-pane tbody tr');
    assert.deepEqual(await texts('.variables-pane tbody th'), ['x']);
});
