// Find in cells and outputs: the time limit of regular expressions, how many matches are counted,
// marks in tables, and where the current match is scrolled to. Replacing is in editing.test.mjs.

import assert from 'node:assert/strict';
import { becomes, nightly } from './browser.mjs';
import { drafts, forgive, lacks, page, ran, run, test, texts } from './harness.mjs';

const count = () => texts('.find-count');
/** Opens the find bar and types what to find. */
async function find(text) {
    await page.keyboard.press('Control+f');
    await page.waitForSelector('.find-panel .find-text:focus');
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
}
/** The texts that the page or a frame highlights. */
const marked = (name, frame = page.mainFrame()) =>
    frame.evaluate((of) => [...(CSS.highlights.get(of) ?? [])].map(String), name);
/** The frame of the first output of the notebook. */
const outputFrame = async () => {
    const frame = await page.waitForSelector('.output iframe');
    return frame.contentFrame();
};
/** Whether a vertical position is not near an edge of the notebook, if that is possible. */
const isCentred = (top) =>
    page.evaluate((at) => {
        const main = document.querySelector('main');
        const { top: first, height } = main.getBoundingClientRect();
        const isAtEnd = main.scrollTop + main.clientHeight > main.scrollHeight - 2;
        return isAtEnd || (at > first + height * 0.14 && at < first + height * 0.85);
    }, top);

test('a regular expression that takes too long is stopped, and the page stays usable meanwhile', async () => {
    await run('print("a" * 40 + "!")');
    await ran(1);
    await find('(a+)+$');
    await page.keyboard.press('Alt+r');
    // The page answers while the search runs.
    await becomes(count, ['Searching…']);
    await becomes(count, ['Takes too long']);
    await becomes(
        () => texts('.find-trouble'),
        [
            'This regular expression takes too long, so the search was stopped. Avoid a repeat inside a repeat: a+ instead of (a+)+.',
        ],
    );
    assert.equal(await page.getByRole('button', { name: 'Next match' }).isDisabled(), true);
    // Another pattern is searched, in the output, too.
    await page.getByLabel('Find', { exact: true }).fill('a{9,}!');
    await becomes(count, ['1 of 1']);
    await becomes(() => marked('found-here'), [`${'a'.repeat(40)}!`]);
    assert.deepEqual(await texts('.find-trouble'), []);
    // Typing another pattern ends one that runs.
    await page.getByLabel('Find', { exact: true }).fill('(a+)+$');
    await page.getByLabel('Find', { exact: true }).fill('pr\\w+');
    await becomes(count, ['1 of 1']);
    await page.keyboard.press('Escape');
});

test('what is typed right after Alt-R is a regular expression', async () => {
    await drafts('a1');
    await page.locator('.cell').first().focus();
    await find('x');
    // Before the bar is painted again.
    await page.evaluate(() => {
        const field = /** @type {HTMLInputElement} */ (document.querySelector('.find-text'));
        const key = { key: 'r', code: 'KeyR', altKey: true, bubbles: true, cancelable: true };
        field.dispatchEvent(new KeyboardEvent('keydown', key));
        field.value = 'a\\d';
        field.dispatchEvent(new InputEvent('input', { bubbles: true }));
    });
    await becomes(count, ['1 of 1']);
});

test('without the server, a regular expression is not searched, and the bar says so', nightly(), async () => {
    forgive(page, /net::ERR_|find-worker/);
    await page.context().route('**/find-worker.js', (route) => route.abort());
    await drafts('x1');
    await find('x\\d');
    await page.keyboard.press('Alt+r');
    await becomes(count, ['Not searched']);
    await page.getByText('Regular expressions need the server, which does not answer.').waitFor();
    await page.context().unroute('**/find-worker.js');
    await page.getByLabel('Find', { exact: true }).fill('x[1]');
    await becomes(count, ['1 of 1']);
});

test('a regular expression replaces with groups, one match after the other and all at once', async () => {
    await drafts('x1 = 1', 'x2 = x1\ny3 = 3');
    const sources = () => texts('.cell[data-kind="draft"]:not([data-fresh]) .source > .editor');
    await page.locator('.cell').first().focus();
    await find('x(\\d)');
    await page.keyboard.press('Alt+r');
    await becomes(count, ['1 of 3']);
    await becomes(() => page.locator('.found').count(), 3);
    await page.keyboard.press('Control+h');
    await page.getByLabel('Replace with').fill('$1z');
    await page.getByLabel('Replace with').press('Enter');
    await page.getByLabel('Replace with').press('Enter');
    await becomes(sources, ['1z = 1', '2z = x1y3 = 3']);
    await becomes(count, ['1 of 1']);
    await page.getByRole('button', { name: 'Replace all' }).click();
    await becomes(sources, ['1z = 1', '2z = 1zy3 = 3']);
    await becomes(count, ['No matches']);
    // What is typed is marked, too.
    await page.getByLabel('Find', { exact: true }).fill('\\dz');
    await becomes(count, ['3 of 3']);
    await page.locator('.cell').first().locator('.cm-content').click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText(' + 7z');
    await becomes(() => page.locator('.found').allTextContents(), ['1z', '7z', '2z', '1z']);
});

test('a count that is not complete says so', nightly(), async () => {
    await run('print("ab " * 12_000)');
    await ran(1);
    await find('b a');
    await becomes(count, ['1 of 10,000+']);
    await page.keyboard.press('Alt+r');
    await becomes(count, ['1 of 10,000+']);
    await page.keyboard.press('Alt+r');
    await find('ab');
    await becomes(count, ['3 of 10,001+']);
    await page.keyboard.press('Control+h');
    await becomes(() => texts('.find-in-cells'), ['1 in cells']);
    await find('print');
    await becomes(count, ['1 of 1']);
});

test('the matches in a table are marked in its cells, and the current one is scrolled to', {
    skip: lacks('pandas'),
}, async () => {
    await run(
        'import pandas as pd\nnames = ["Oslo", "b & c", "x<y"] * 18 + ["Bonn", "bonn"]\n' +
            'pd.DataFrame({"city": names, "n": range(len(names))})',
    );
    await ran(1);
    const frame = await outputFrame();
    await frame.waitForSelector('td');
    await find('bonn"');
    await becomes(count, ['1 of 2']);
    await find('bonn');
    await becomes(count, ['1 of 4']);
    await becomes(() => marked('found', frame), ['Bonn', 'bonn']);
    await page.keyboard.press('Enter');
    await page.keyboard.press('Enter');
    await becomes(count, ['3 of 4']);
    await becomes(() => marked('found-here', frame), ['Bonn']);
    // The row is in the middle of the window, although the table is higher.
    const isSeen = async () => {
        const row = await frame.locator('tbody tr').nth(54).boundingBox();
        return isCentred(row.y);
    };
    await becomes(isSeen, true);
    await page.keyboard.press('Enter');
    await becomes(() => marked('found-here', frame), ['bonn']);
    // What HTML writes as an entity is found as it is shown.
    await page.getByLabel('Find', { exact: true }).fill('B & C');
    await becomes(() => marked('found', frame), Array(18).fill('b & c'));
    await page.keyboard.press('Alt+r');
    await page.getByLabel('Find', { exact: true }).fill('^53\\tx<.');
    await becomes(() => marked('found', frame), ['53', 'x<y']);
    await page.keyboard.press('Escape');
    await becomes(() => marked('found', frame), []);
});

test('the matches in a grid are marked, also in rows that come into view', {
    skip: lacks('pandas'),
}, async () => {
    await run(
        'import pandas as pd\npd.DataFrame({"city": ["Bonn" if i % 10 == 5 else "Oslo" for i in range(500)]})',
    );
    await ran(1);
    await page.locator('.output').hover();
    await page.getByRole('button', { name: 'Show as grid' }).click();
    await page.locator('.grid-cell', { hasText: 'Oslo' }).first().waitFor();
    await page.locator('.cell').first().focus();
    await find('bonn');
    await becomes(async () => [...new Set(await marked('found'))], ['Bonn']);
    await page.keyboard.press('Alt+r');
    await page.getByLabel('Find', { exact: true }).fill('b.n+');
    await becomes(async () => [...new Set(await marked('found'))], ['Bonn']);
    const rows = (name = 'found') =>
        page.evaluate(
            (of) =>
                [.../** @type {Iterable<Range>} */ (CSS.highlights.get(of) ?? [])].map(
                    (range) => range.startContainer.parentElement?.dataset.row,
                ),
            name,
        );
    await page.locator('.grid').evaluate((grid) => {
        grid.scrollTop = 26 * 203;
    });
    await becomes(async () => (await rows()).includes('205'), true);
    // The current match is scrolled to in the grid.
    await becomes(count, ['1 of 2']);
    await page.keyboard.press('Enter');
    await becomes(count, ['2 of 2']);
    await becomes(() => rows('found-here'), ['495']);
    assert.equal(await page.locator('.grid-cell[data-row="495"]', { hasText: 'Bonn' }).isVisible(), true);
    await page.keyboard.press('Escape');
    await becomes(() => marked('found'), []);
});

test('the current match is scrolled to the middle, in code and in outputs', async () => {
    await drafts(
        Array.from({ length: 300 }, (_, i) => `x${i} = ${i === 150 || i === 280 ? '"needle"' : i}`).join(
            '\n',
        ),
    );
    await page.locator('.cell').first().focus();
    await page.evaluate(() => {
        document.querySelector('main').scrollTop = 0;
    });
    await find('needle');
    await becomes(count, ['1 of 2']);
    const here = () =>
        page.evaluate(() => document.querySelector('.found-here')?.getBoundingClientRect().top ?? -1);
    await becomes(async () => isCentred(await here()), true);
    await page.keyboard.press('Enter');
    await becomes(count, ['2 of 2']);
    await becomes(() => page.locator('.found-here').count(), 1);
    await becomes(async () => isCentred(await here()), true);
});

test(
    'a match in the box of a long output is in the middle of the box, and the box in sight',
    nightly(),
    async () => {
        await run(
            `${'# \n'.repeat(60)}for i in range(1000): print("row", i, "nee" + "dle" if i == 500 else "")`,
        );
        await ran(1);
        await page.locator('.cell').first().focus();
        await page.evaluate(() => {
            document.querySelector('main').scrollTop = 0;
        });
        await find('needle');
        await becomes(count, ['1 of 1']);
        const middles = () =>
            page.evaluate(() => {
                const [range] = /** @type {Iterable<Range>} */ (CSS.highlights.get('found-here') ?? []);
                const { top } = range?.getBoundingClientRect() ?? { top: -1 };
                const box = document.querySelector('[data-boxed] > .text').getBoundingClientRect();
                return top > box.top + box.height / 3 && top < box.top + (box.height * 2) / 3 && top;
            });
        await becomes(async () => typeof (await middles()), 'number');
        await becomes(async () => isCentred(await middles()), true);
    },
);
