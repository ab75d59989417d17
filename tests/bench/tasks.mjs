// Five tasks of every day, in Ratoon and in JupyterLab, each in the fewest key presses and clicks
// that we know. A chord such as Shift-Enter is one press; a double click is two clicks. The text
// that a task needs is typed in both, and is not counted. Each task ends with a check that it is
// done. guide-tasks.mjs has twenty more, from JupyterLab's user guide.
//
// tests/browser/tasks.test.mjs does Ratoon's part; tasks-run.mjs does both and prints the tables of
// docs/tour.md.

import assert from 'node:assert/strict';

const LIMIT = 60_000;

/** Presses keys and clicks in a page, and counts. */
export class Hands {
    /** @param {any} page */
    constructor(page) {
        this.page = page;
        this.count = 0;
    }

    async press(...keys) {
        for (const key of keys) {
            await this.page.keyboard.press(key);
            this.count += 1;
        }
    }

    async click(locator, options = {}) {
        await locator.click(options);
        this.count += 1;
    }

    async doubleClick(locator) {
        await locator.dblclick();
        this.count += 2;
    }

    /**
     * Drags the middle of an element to the top edge of another one, which counts as one. With
     * `mark`, tries again until the page shows that element: it may still load what a drag needs.
     */
    async dragAbove(locator, other, mark = 'body') {
        const { mouse } = this.page;
        const from = await locator.boundingBox();
        const to = await other.boundingBox();
        for (let isHeld = false; !isHeld; ) {
            await mouse.up();
            await mouse.move(from.x + from.width / 2, from.y + from.height / 2);
            await mouse.down();
            await mouse.move(from.x + from.width / 2, to.y + 3, { steps: 8 });
            isHeld = (await this.page.locator(mark).count()) > 0;
        }
        await mouse.up();
        this.count += 1;
    }

    /** Clicks a button that lets the user choose a file. The choice itself is not counted. */
    async upload(button, file) {
        const chooser = this.page.waitForEvent('filechooser');
        await this.click(button);
        await (await chooser).setFiles(file);
    }

    /** Types the text of the task, which is not counted. */
    async type(text) {
        await this.page.keyboard.insertText(text);
    }
}

const LOAD = 'df = list(range(10))';

/** What each product needs for the tasks. `see` waits until the last output has this text. */
export const ratoon = {
    async run(hands, code, output = null) {
        const { page } = hands;
        const before = await page.locator('.cell[data-kind="ran"]').count();
        await page.locator('.cell[data-fresh] .editor').click();
        await hands.type(code);
        await page.keyboard.press('Shift+Enter');
        await ratoon.ran(page, before + 1);
        if (output !== null) await ratoon.see(page, output);
    },
    ran: (page, count) =>
        page.waitForFunction(
            (n) =>
                document.querySelectorAll('.cell[data-kind="ran"]').length === n &&
                !document.querySelector('[data-status="running"], [data-status="queued"]'),
            count,
        ),
    see: (page, text) =>
        page.waitForFunction(
            (wanted) => [...document.querySelectorAll('.output .text')].at(-1)?.textContent.trim() === wanted,
            text,
        ),
};

export const lab = {
    cells: (page) => page.locator('.jp-Notebook .jp-Cell'),
    async run(hands, code, output = null) {
        const { page } = hands;
        const count = await lab.cells(page).count();
        await page.locator('.jp-Notebook .jp-Cell .cm-content').last().click();
        await hands.type(code);
        await page.keyboard.press('Shift+Enter');
        await page.waitForFunction(
            (n) => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n,
            count + 1,
        );
        await lab.idle(page);
        if (output !== null) await lab.see(page, output);
    },
    idle: (page) =>
        page.waitForFunction(
            () =>
                ![...document.querySelectorAll('.jp-Notebook .jp-InputPrompt')].some((one) =>
                    one.textContent.includes('*'),
                ),
        ),
    see: (page, text) =>
        page.waitForFunction(
            (wanted) =>
                [...document.querySelectorAll('.jp-OutputArea-output')].at(-1)?.textContent.trim() === wanted,
            text,
        ),
    menu: async (hands, ...names) => {
        const { page } = hands;
        await hands.click(page.locator('.lm-MenuBar-item', { hasText: names[0] }));
        for (const name of names.slice(1))
            await hands.click(page.locator('.lm-Menu-item', { hasText: name }).last());
    },
};

/**
 * @typedef {{name: string, ratoon: (hands: Hands) => Promise<void>,
 *   lab: (hands: Hands) => Promise<void>, does: {ratoon: string, lab: string}}} Task
 */

/** @type {Task[]} */
export const TASKS = [
    {
        name: 'undo a bad cell',
        does: {
            ratoon: '*Branch* at the cell above it',
            lab: 'delete the cell, and run the cell above it again',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, LOAD);
            await ratoon.run(hands, 'df.clear()');
            const cell = page.locator('.cell[data-kind="ran"]').first();
            await cell.hover();
            await hands.click(cell.getByRole('button', { name: 'Branch' }));
            await ratoon.ran(page, 1);
            const { count } = hands;
            await ratoon.run(hands, 'print(len(df))', '10');
            assert.equal(hands.count, count);
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, LOAD);
            await lab.run(hands, 'df.clear()');
            await hands.press('Escape', 'ArrowUp', 'd', 'd', 'ArrowUp', 'Control+Enter');
            await lab.idle(page);
            await lab.run(hands, 'print(len(df))', '10');
        },
    },
    {
        name: 'try three models and choose the second',
        does: {
            ratoon: '*Try variants*, and click on each in the graph, at last on the second',
            lab: 'run three cells, delete two of them, and run the chosen one again',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, LOAD);
            await page.locator('.cell[data-fresh] .editor').click();
            await hands.type(MODELS[0]);
            await hands.press('Control+Alt+Shift+Enter');
            await page.locator('dialog .variants li').nth(1).waitFor();
            await page.waitForFunction(() => document.activeElement.closest('dialog .cm-editor'));
            await hands.press('Control+a');
            await hands.type(MODELS[1]);
            await hands.click(page.getByRole('button', { name: 'Add variant' }));
            await page.waitForFunction(
                () =>
                    document.activeElement.closest('li') ===
                    document.querySelector('dialog .variants li:nth-child(3)'),
            );
            await hands.press('Control+a');
            await hands.type(MODELS[2]);
            await hands.press('Control+Enter');
            await ratoon.ran(page, 2);
            await ratoon.see(page, '11');
            for (const n of [2, 3, 2]) {
                await hands.click(page.locator('.row', { hasText: `${n}; model` }));
                await ratoon.see(page, `${n + 10}`);
            }
            await ratoon.run(hands, 'print(model)', '2');
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, LOAD);
            await page.locator('.jp-Notebook .jp-Cell .cm-content').last().click();
            for (const [i, model] of MODELS.entries()) {
                await hands.type(model);
                await hands.press('Shift+Enter');
                await page.waitForFunction(
                    (n) => document.querySelectorAll('.jp-Notebook .jp-Cell').length === n,
                    i + 3,
                );
            }
            await lab.see(page, '13');
            await hands.press('Escape', 'ArrowUp', 'd', 'd', 'ArrowUp', 'Control+Enter');
            await hands.press('ArrowUp', 'd', 'd');
            await lab.idle(page);
            await lab.run(hands, 'print(model)', '2');
            assert.equal(await lab.cells(page).count(), 4);
        },
    },
    {
        name: 'change the first cell and run all again',
        does: {
            ratoon: 'click into it, change it, and press Ctrl-Shift-Enter',
            lab: 'click into it, change it, and choose *Run Selected Cell and All Below*',
        },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of [LOAD, 'total = sum(df)', 'print(total)']) await ratoon.run(hands, code);
            await hands.click(page.locator('.cell .cm-content').first());
            await page.keyboard.press('Control+End');
            await hands.type(' + [100]');
            await hands.press('Control+Shift+Enter');
            await ratoon.ran(page, 3);
            await ratoon.see(page, '145');
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of [LOAD, 'total = sum(df)', 'print(total)']) await lab.run(hands, code);
            await hands.click(page.locator('.jp-Notebook .jp-Cell .cm-content').first());
            await page.keyboard.press('Control+End');
            await hands.type(' + [100]');
            await lab.menu(hands, 'Run', 'Run Selected Cell and All Below');
            await lab.see(page, '145');
        },
    },
    {
        name: 'find the cell that changed `df` last',
        does: {
            ratoon: 'search the graph: the first hit is that cell',
            lab: 'search the notebook, and go through the hits',
        },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of CHANGES) await ratoon.run(hands, code);
            await page.waitForFunction(() => {
                const rows = [...document.querySelectorAll('.row')];
                return rows.length === 7 && !document.querySelector('[data-status="running"]');
            });
            await hands.click(page.getByRole('textbox', { name: 'Search code, outputs and labels' }));
            await hands.press('d', 'f');
            await page.waitForFunction(() => {
                const row = document.querySelector('.row[data-cursor]');
                return row?.textContent.includes('df.append(99)') && row.textContent.includes('changes df');
            });
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of CHANGES) await lab.run(hands, code);
            await hands.press('Control+f');
            await page.locator('.jp-DocumentSearch-input').first().waitFor();
            await hands.press('d', 'f');
            await page
                .getByText(/\d+\/\d+/)
                .first()
                .waitFor();
            const isThere = () =>
                page.evaluate(
                    () =>
                        document
                            .querySelector('.jp-current-match')
                            ?.closest('.cm-line')
                            ?.textContent.includes('df.append(99)') ?? false,
                );
            for (let i = 0; i < 20 && !(await isThere()); i += 1) {
                await hands.press('Enter');
                // JupyterLab marks the hit some time after the key.
                await page.waitForTimeout(1500);
            }
            assert.ok(await isThere(), 'the hit was found');
        },
    },
    {
        name: 'send a colleague the result',
        does: {
            ratoon: '*Share*, Enter: the link is in the clipboard',
            lab: '*Save and Export Notebook As*, HTML: the file can be sent',
        },
        async ratoon(hands) {
            const { page } = hands;
            await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
            await ratoon.run(hands, 'print("result")', 'result');
            await hands.click(page.getByRole('button', { name: 'Share' }));
            await page.waitForFunction(() => document.activeElement.closest('dialog'));
            await hands.press('Enter');
            await page.getByText('The link is copied').waitFor();
            assert.match(await page.evaluate(() => navigator.clipboard.readText()), /\/n\/main\?token=/);
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, 'print("result")', 'result');
            const download = page.waitForEvent('download', { timeout: LIMIT });
            await lab.menu(hands, 'File', 'Save and Export Notebook As', 'HTML');
            await hands.click(page.getByRole('button', { name: 'Ok', exact: true }));
            await download;
        },
    },
];

const MODELS = [1, 2, 3].map((n) => `model = ${n}; model + 10`);
const CHANGES = [
    LOAD,
    'print(len(df))',
    'total = sum(df)',
    'df.append(99)',
    'print(len(df))',
    'print(max(df))',
];
