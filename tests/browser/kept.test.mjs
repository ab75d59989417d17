// Outputs that are kept in view beside the notebook.

import assert from 'node:assert/strict';
import { becomes } from './browser.mjs';
import {
    choose,
    focused,
    frameFocused,
    guestBy,
    lacks,
    page,
    post,
    ran,
    release,
    run,
    server,
    test,
    testOnOwnServer,
    texts,
    untilReleased,
} from './harness.mjs';

const real = { skip: !process.env.RATOON_BIN && 'needs RATOON_BIN' };

/** Keeps the output of a cell with the button beside it. */
async function keep(cell, on = page) {
    const output = on.locator('.cell').nth(cell).locator('.output').first();
    await output.hover();
    await output.getByRole('button', { name: 'Keep in view' }).click();
    await on.waitForSelector('.kept-pane');
}
const pane = (on = page) => on.locator('.kept-pane');
/** The heads of the pane: the cell's name, its status and place. */
const heads = (on = page) => texts('.kept-head', on);
const printed = (on = page) => texts('.kept-pane .stream', on);

test(
    'a kept output grows while its cell is scrolled away, and follows the next version of the cell',
    real,
    async () => {
        const steps = [
            'n = 1',
            'for i in range(40): print("line", i)',
            untilReleased('more'),
            'print("the end")',
        ];
        await run(steps.join('\n'), 'Shift+Enter');
        await page.locator('.stream', { hasText: 'line 39' }).waitFor();
        await keep(0);
        await becomes(heads, ['n = 1running']);
        await page.locator('main').hover();
        await page.mouse.wheel(0, 5000);
        const isInSight = (selector) =>
            page.$eval(selector, (one) => {
                const main = document.querySelector('main').getBoundingClientRect();
                const box = one.getBoundingClientRect();
                return box.bottom > main.top && box.top < main.bottom;
            });
        await becomes(() => isInSight('.cell .source'), false);
        await release('more');
        await pane().locator('.stream', { hasText: 'the end' }).waitFor();
        await ran(1);
        await becomes(heads, ['n = 1']);
        assert.ok(await isInSight('.kept-head'));

        // The name is a button that goes to the cell.
        await pane().getByRole('button', { name: 'n = 1', exact: true }).click();
        await focused([0, 'cell']);
        await page.keyboard.press('Enter');
        await page.keyboard.press('Control+a');
        await page.keyboard.insertText('print("another")');
        await page.keyboard.press('Shift+Enter');
        await becomes(() => printed(), ['another']);
        await becomes(heads, ['print("another")']);
        await page.reload();
        await becomes(() => printed(), ['another']);
    },
);

test(
    'a change above marks a kept output as stale; each branch shows its own, and another branch its last',
    real,
    async () => {
        await run('a = 1');
        await ran(1);
        await run('print("plot", a)');
        await ran(2);
        await keep(1);
        await page.locator('.cell').first().focus();
        await page.keyboard.press('Enter');
        await page.keyboard.press('Control+a');
        await page.keyboard.insertText('a = 2');
        await page.keyboard.press('Shift+Enter');
        await becomes(heads, ['print("plot", a)Stale']);
        await becomes(() => printed(), ['plot 1']);
        assert.equal(await pane().locator('.stale .stream').count(), 1);
        await page.locator('.cell').nth(1).focus();
        await page.keyboard.press('Shift+Enter');
        await ran(2);
        await becomes(() => printed(), ['plot 2']);
        await page.locator('.cell').first().focus();
        await page.keyboard.press('[');
        await becomes(() => printed(), ['plot 1']);
        await becomes(heads, ['print("plot", a)']);
        await page.keyboard.press(']');
        await becomes(() => printed(), ['plot 2']);

        // A branch without the cell.
        await page.locator('.cell').first().hover();
        await page.locator('.cell').first().getByRole('button', { name: 'Branch' }).click();
        await ran(1);
        await run('print("other")');
        await ran(2);
        await becomes(heads, ['print("plot", a)Other branch']);
        await becomes(() => printed(), ['plot 2']);
        await keep(1);
        await becomes(heads, ['print("other")', 'print("plot", a)Other branch']);
        await pane().getByRole('button', { name: 'print("plot", a)', exact: true }).click();
        await ran(2);
        await focused([1, 'cell']);
        await becomes(heads, ['print("other")Other branch', 'print("plot", a)']);

        // Its state is deleted.
        await pane().getByRole('button', { name: 'print("other")', exact: true }).click();
        await becomes(heads, ['print("other")', 'print("plot", a)Other branch']);
        const here = await page.evaluate(() => location.hash.slice(1));
        await post(server, '/api/notebooks/main/commands', { do: 'delete_state', state: here });
        await becomes(heads, ['Deleted', 'print("plot", a)Other branch']);
        assert.deepEqual(await texts('.kept .hint'), ['This output was deleted.']);
    },
);

test(
    'keys reach the pane and leave it; the last kept output closes it; another pane covers it',
    real,
    async () => {
        for (const [i, name] of ['one', 'two', 'three'].entries()) {
            await run(`print("${name}")`);
            await ran(i + 1);
            await keep(i);
        }
        await becomes(() => printed(), ['three', 'two', 'one']);
        await keep(0);
        await becomes(() => printed(), ['one', 'three', 'two']);
        const focusIn = () =>
            page.evaluate(() => {
                const { activeElement: at } = document;
                return [at.closest('.kept')?.getAttribute('aria-label'), at.getAttribute('aria-label')];
            });
        await pane().getByRole('separator').focus();
        await page.keyboard.press('Tab');
        await becomes(focusIn, ['print("one")', 'print("one")']);
        await page.keyboard.press('Tab');
        await becomes(focusIn, ['print("one")', 'Hold: print("one")']);
        await page.keyboard.press('Tab');
        await becomes(focusIn, ['print("one")', 'Stop keeping in view: print("one")']);
        await page.keyboard.press('Escape');
        await focused([0, 'cell']);

        await page.getByRole('button', { name: 'Variables' }).click();
        await pane().waitFor({ state: 'detached' });
        await page.getByRole('button', { name: 'Variables' }).click();
        await becomes(() => printed(), ['one', 'three', 'two']);
        await page.getByRole('button', { name: 'Variables' }).click();
        await keep(1);
        await page.waitForSelector('.variables-pane', { state: 'detached' });
        await becomes(() => printed(), ['two', 'one', 'three']);

        const close = pane().getByRole('button', { name: 'Stop keeping in view' });
        await close.last().focus();
        await page.keyboard.press('Enter');
        await becomes(focusIn, ['print("one")', 'Stop keeping in view: print("one")']);
        await close.first().focus();
        await page.keyboard.press('Enter');
        await becomes(focusIn, ['print("one")', 'Stop keeping in view: print("one")']);
        await page.keyboard.press('Enter');
        await pane().waitFor({ state: 'detached' });
        await focused([1, 'cell']);
        await page.reload();
        await ran(3);
        assert.equal(await page.locator('.app[data-right]').count(), 0);

        // The menu of the cell has it, too.
        await choose(2, 'Keep in view');
        await becomes(() => printed(), ['three']);
    },
);

test(
    'HTML and images are shown in both places, and what is collapsed or resized in one is not in the other',
    real,
    async () => {
        await run(`from IPython.display import *
print("short")
display(HTML('<b id="it">bold</b><script>document.body.dataset.runs = "yes"</script>'))
display(SVG('<svg xmlns="http://www.w3.org/2000/svg" width="200" height="50"></svg>'))`);
        await ran(1);
        const html = (nth) => page.frameLocator('iframe.frame').nth(nth).locator('#it');
        await html(0).waitFor();
        await page.waitForSelector('.frame-place[data-ready]');
        // The buttons of the short output extend over those of the next one.
        await keep(0);
        await pane().locator('iframe').waitFor();
        await html(1).waitFor();
        assert.equal(await page.locator('iframe.frame').count(), 2);
        await pane().getByRole('slider').focus();
        await page.keyboard.press('ArrowLeft');
        const widths = () => page.$$eval('img.image', (all) => all.map((one) => one.clientWidth));
        await becomes(widths, [200, 180]);
        await page.locator('.cell').first().focus();
        await page.keyboard.press('o');
        await page.locator('main').getByText('Output collapsed').waitFor();
        assert.equal(await pane().locator('.output').count(), 3);
    },
);

test('a prompt for input is in the cell alone', real, async () => {
    await run('print("before")\nname = input("Name? ")\nprint("hello", name)');
    await page.locator('.input-prompt input:focus').waitFor();
    await keep(0);
    await becomes(heads, ['name = input("Name? ")running']);
    assert.equal(await page.locator('.input-prompt').count(), 1);
    assert.equal(await pane().locator('input').count(), 0);
    await page.locator('.input-prompt input').fill('Ada');
    await page.keyboard.press('Enter');
    await ran(1);
    await pane().getByText('hello Ada').waitFor();
});

test('a widget is live in the cell and in the pane', { skip: lacks('ipywidgets') }, async () => {
    await run('import ipywidgets as w\nslider = w.IntSlider(value=3, description="n")\nslider');
    await ran(1);
    const value = (nth) => page.frameLocator('iframe.frame').nth(nth).locator('.widget-readout');
    await value(0).waitFor();
    await choose(0, 'Keep in view');
    await value(1).waitFor();
    const values = () => Promise.all([0, 1].map((nth) => value(nth).textContent()));
    await becomes(values, ['3', '3']);
    for (const nth of [1, 0]) {
        await page.frameLocator('iframe.frame').nth(nth).locator('.noUi-handle').focus();
        await page.keyboard.press('ArrowRight');
        await becomes(values, nth === 1 ? ['4', '4'] : ['5', '5']);
    }
    await run('print("value", slider.value)');
    await page.locator('.cell .stream', { hasText: 'value 5' }).waitFor();
});

test('Escape in a kept output leaves its frame, then the pane', real, async () => {
    await run('from IPython.display import HTML\nHTML("<input>")');
    await ran(1);
    await keep(0);
    const frame = pane().frameLocator('iframe');
    await frame.locator('input').click();
    await focused('IFRAME');
    await frameFocused(frame);
    await page.keyboard.press('Escape');
    await focused('ASIDE');
    await frameFocused(frame, false);
    await page.keyboard.press('Escape');
    await focused([0, 'cell']);
});

test('a data frame becomes a grid in the pane alone', { skip: lacks('pandas') }, async () => {
    await run('import pandas as pd\npd.DataFrame({"n": range(9)})');
    await ran(1);
    await page.getByRole('button', { name: 'Keep in view' }).click();
    await pane().getByRole('button', { name: 'Show as grid' }).click();
    await pane().locator('.grid-cell', { hasText: '8' }).first().waitFor();
    assert.equal(await page.locator('main .grid-cell').count(), 0);
});

test('a held output stays beside the next version of its cell, for comparison', real, async () => {
    await run('print("plot", 1)');
    await ran(1);
    await keep(0);
    const hold = pane().getByRole('button', { name: /^Hold/ });
    await hold.focus();
    await page.keyboard.press('Enter');
    await becomes(() => hold.getAttribute('aria-pressed'), 'true');
    assert.ok(await hold.evaluate((one) => one === document.activeElement));
    await page.locator('.cell').first().focus();
    await page.keyboard.press('Enter');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('print("plot", 2)');
    await page.keyboard.press('Shift+Enter');
    await page.locator('.cell .stream', { hasText: 'plot 2' }).waitFor();
    await becomes(heads, ['print("plot", 1)Other branch']);
    await keep(0);
    await becomes(() => printed(), ['plot 2', 'plot 1']);
    await page.reload();
    await becomes(() => printed(), ['plot 2', 'plot 1']);
    assert.equal(await hold.last().getAttribute('aria-pressed'), 'true');
    await hold.last().click();
    await becomes(() => printed(), ['plot 2']);
});

testOnOwnServer('a guest who may only view keeps outputs, too', real, async () => {
    await run('print("seen")');
    await ran(1);
    const guest = await guestBy('view');
    await ran(1, guest);
    await keep(0, guest);
    await becomes(() => printed(guest), ['seen']);
    await pane(guest).getByRole('button', { name: 'Stop keeping in view' }).click();
    await pane(guest).waitFor({ state: 'detached' });
    assert.equal(await pane().count(), 0, 'the owner’s page does not change');
});

test('on a phone kept outputs are a sheet, which that of the graph covers', real, async () => {
    await run('print("one")');
    await ran(1);
    await page.setViewportSize({ width: 390, height: 800 });
    await page.evaluate(() => sessionStorage.clear());
    await page.reload();
    await ran(1);
    await page.getByRole('button', { name: 'Graph of states' }).click();
    await page.waitForSelector('.graph-pane');
    await keep(0);
    await page.waitForSelector('.graph-pane', { state: 'detached' });
    assert.ok((await pane().boundingBox()).height <= 320);
    await page.getByRole('button', { name: 'Graph of states' }).click();
    await pane().waitFor({ state: 'hidden' });
    await page.getByRole('button', { name: 'Graph of states' }).click();
    await pane().waitFor();
});
