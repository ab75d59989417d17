// Twenty tasks that JupyterLab's user guide describes, in Ratoon and in JupyterLab, each in the
// fewest key presses and clicks that the page, or the guide, shows. `guide` is the guide's page:
// https://jupyterlab.readthedocs.io/en/stable/user/<guide>.html. The list was written before
// anything was counted. `ratoon: null`: Ratoon cannot do the task, and `does` says why.
//
//  1. insert a cell between two others      11. complete a name and show its documentation
//  2. split a cell and merge it again       12. collapse an output
//  3. move a cell to the top                13. go to a heading through the table of contents
//  4. delete a cell and bring it back       14. look at a value without changing the notebook
//  5. turn a cell into rendered Markdown    15. keep an output in view beside the notebook
//  6. run all cells                         16. clear all outputs
//  7. restart and run all cells             17. upload a file and rename it
//  8. stop a running cell                   18. look at a CSV file as a table
//  9. replace a name in all cells           19. run a command in a terminal
// 10. duplicate the notebook                20. export the notebook as a Python script

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { becomes } from '../browser/browser.mjs';
import { lab, ratoon } from './tasks.mjs';

/** @typedef {import('./tasks.mjs').Hands} Hands */
/** @typedef {(hands: Hands) => Promise<void>} Deed */

/** Steps of Ratoon that several tasks share. */
const our = {
    cells: (page) => page.locator('.cell'),
    fresh: (page) => page.locator('.cell[data-fresh] .editor'),
    sources: (page) => () => page.$$eval('.cell', linesOf),
    async menu(hands, item) {
        await hands.click(hands.page.getByRole('button', { name: 'More', exact: true }));
        await hands.click(hands.page.getByRole('menuitem', { name: item }));
    },
    /** Types sources into cells that do not run. */
    async write(hands, ...sources) {
        const { keyboard } = hands.page;
        await our.fresh(hands.page).click();
        for (const source of sources) {
            await hands.type(source);
            for (const key of ['Escape', 'ArrowDown', 'Enter']) await keyboard.press(key);
        }
    },
};

/** The same, of JupyterLab. */
const their = {
    cell: (page, n) => lab.cells(page).nth(n),
    prompt: (page, n) => lab.cells(page).nth(n).locator('.jp-InputPrompt'),
    last: (page) => page.locator('.jp-Notebook .jp-Cell .cm-content').last(),
    sources: (page) => () => page.$$eval('.jp-Notebook .jp-Cell', linesOf),
    button: (page, title) => page.locator(`button[title^="${title}"], jp-button[title^="${title}"]`).first(),
    file: (page, name) => page.locator('.jp-DirListing-item', { hasText: name }),
    output: (page) => page.locator('.jp-Notebook .jp-OutputArea-output').last(),
    /** JupyterLab joins cell operations, and searches late, if they come faster than by hand. */
    pace: (page) => page.waitForTimeout(1500),
    async write(hands, ...sources) {
        const { keyboard } = hands.page;
        await their.last(hands.page).click();
        for (const [i, source] of sources.entries()) {
            await hands.type(source);
            if (i < sources.length - 1) for (const key of ['Escape', 'b', 'Enter']) await keyboard.press(key);
        }
    },
};

/**
 * The code that each cell shows.
 * @param {Element[]} cells
 */
const linesOf = (cells) =>
    cells.map((cell) =>
        [...cell.querySelectorAll('.cm-line')]
            .map((line) => (line.querySelector('.cm-placeholder') ? '' : line.textContent))
            .join('\n'),
    );

const TABLE = 'open("data.csv", "w").write("name,n\\nb,2\\na,1\\n")';
const FILE = { name: 'data.csv', mimeType: 'text/csv', buffer: Buffer.from('name,n\nb,2\na,1\n') };
const CLOCK = ['import time', 'print(time.time_ns())'];
const DOCUMENTED = 'def measure(x): return x\nmeasure.__doc__ = "the words" + " of measure"';
const SCREENS = Array(6).fill('print("line\\n" * 15)');
const SECONDS = 'import time; time.sleep(600)';

/** What is shown in a page's window. */
const isInSight = (page, selector, text) =>
    page.waitForFunction(
        ([selector, text]) =>
            [...document.querySelectorAll(selector)].some((one) => {
                const { top, bottom } = one.getBoundingClientRect();
                return one.textContent.startsWith(text) && top >= 0 && bottom <= innerHeight;
            }),
        [selector, text],
    );

/**
 * @typedef {{name: string, guide: string, ratoon: Deed | null, lab: Deed,
 *   does: {ratoon: string, lab: string}}} GuideTask
 */

/** @type {GuideTask[]} */
export const GUIDE_TASKS = [
    {
        name: 'insert a cell between two others',
        guide: 'commands',
        does: { ratoon: '+ between them', lab: 'click beside the lower one, A' },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2', 'c = 3']) await ratoon.run(hands, code);
            const gap = our.cells(page).nth(1).locator('.insert');
            await gap.hover();
            await hands.click(gap.locator('.insert-button'));
            await becomes(our.sources(page), ['a = 1', '', 'b = 2', 'c = 3', '']);
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2', 'c = 3']) await lab.run(hands, code);
            await hands.click(their.prompt(page, 1));
            await hands.press('a');
            await becomes(their.sources(page), ['a = 1', '', 'b = 2', 'c = 3', '']);
        },
    },
    {
        name: 'split a cell and merge it again',
        guide: 'commands',
        does: {
            ratoon: 'Home, Ctrl-Shift-Minus; Esc, Ctrl-Backspace',
            lab: 'Home, Ctrl-Shift-Minus; Esc, Ctrl-Backspace',
        },
        async ratoon(hands) {
            const { page } = hands;
            await our.fresh(page).click();
            await hands.type('a = 1\nb = 2');
            await hands.press('Home', 'Control+Shift+Minus');
            await becomes(our.sources(page), ['a = 1', 'b = 2', '']);
            await hands.press('Escape', 'Control+Backspace');
            await becomes(our.sources(page), ['a = 1\n\nb = 2', '']);
        },
        async lab(hands) {
            const { page } = hands;
            await their.write(hands, 'a = 1\nb = 2');
            await hands.press('Home', 'Control+Shift+Minus');
            await becomes(their.sources(page), ['a = 1', 'b = 2']);
            await hands.press('Escape', 'Control+Backspace');
            await becomes(their.sources(page), ['a = 1\n\nb = 2']);
        },
    },
    {
        name: 'move a cell to the top',
        guide: 'notebook',
        does: { ratoon: 'drag it', lab: 'drag it' },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2', 'c = 3']) await ratoon.run(hands, code);
            const cell = our.cells(page).nth(2);
            await cell.hover();
            await hands.dragAbove(cell.locator('.drag-handle'), our.cells(page).first(), '.drop');
            await becomes(our.sources(page), ['c = 3', 'a = 1', 'b = 2', '']);
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2', 'c = 3']) await lab.run(hands, code);
            await hands.dragAbove(their.prompt(page, 2), their.cell(page, 0));
            await becomes(their.sources(page), ['c = 3', 'a = 1', 'b = 2', '']);
        },
    },
    {
        name: 'delete a cell and bring it back',
        guide: 'commands',
        does: { ratoon: '*Leave this cell out* in its menu, *Undo*', lab: 'click it, its bin, Enter, Z' },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2']) await ratoon.run(hands, code);
            const cell = our.cells(page).nth(1);
            await cell.hover();
            await hands.click(cell.getByLabel('Cell actions'));
            await hands.click(page.getByRole('menuitem', { name: 'Leave this cell out' }));
            await becomes(our.sources(page), ['a = 1', '']);
            await hands.click(page.getByRole('button', { name: 'Undo', exact: true }));
            await becomes(our.sources(page), ['a = 1', 'b = 2', '']);
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of ['a = 1', 'b = 2']) await lab.run(hands, code);
            await their.pace(page);
            await hands.click(their.cell(page, 1).locator('.cm-content'));
            await hands.click(their.button(page, 'Delete the cell'));
            await page.waitForFunction(() => document.activeElement.closest('.jp-Dialog'));
            await hands.press('Enter');
            await becomes(their.sources(page), ['a = 1', '']);
            await their.pace(page);
            await hands.press('z');
            await becomes(their.sources(page), ['a = 1', 'b = 2', '']);
        },
    },
    {
        name: 'turn a cell into rendered Markdown',
        guide: 'commands',
        does: { ratoon: 'Esc, M', lab: 'Esc, M, Shift-Enter' },
        async ratoon(hands) {
            const { page } = hands;
            await our.fresh(page).click();
            await hands.type('# Title');
            await hands.press('Escape', 'm');
            await page.locator('.cell h1', { hasText: 'Title' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await their.write(hands, '# Title');
            await hands.press('Escape', 'm', 'Shift+Enter');
            await page.locator('.jp-Cell h1', { hasText: 'Title' }).waitFor();
        },
    },
    {
        name: 'run all cells',
        guide: 'commands',
        does: { ratoon: 'Ctrl-Shift-Enter', lab: '*Run All Cells* in the menu' },
        async ratoon(hands) {
            await our.write(hands, 'a = 1', 'b = a + 1', 'print(b)');
            await hands.press('Control+Shift+Enter');
            await ratoon.ran(hands.page, 3);
            await ratoon.see(hands.page, '2');
        },
        async lab(hands) {
            await their.write(hands, 'a = 1', 'b = a + 1', 'print(b)');
            await lab.menu(hands, 'Run', /^Run All Cells$/);
            await lab.see(hands.page, '2');
        },
    },
    {
        name: 'restart and run all cells',
        guide: 'commands',
        does: { ratoon: '*Restart and run all* in the menu', lab: 'the button, Enter' },
        async ratoon(hands) {
            const { page } = hands;
            for (const code of CLOCK) await ratoon.run(hands, code);
            const before = await page.locator('.output .text').textContent();
            await our.menu(hands, 'Restart and run all');
            await page.waitForFunction(isOther, ['.output .text', before]);
            await ratoon.ran(page, 2);
        },
        async lab(hands) {
            const { page } = hands;
            for (const code of CLOCK) await lab.run(hands, code);
            const before = await their.output(page).textContent();
            await hands.click(their.button(page, 'Restart the kernel and run all cells'));
            await page.waitForFunction(() => document.activeElement.closest('.jp-Dialog'));
            await hands.press('Enter');
            await page.waitForFunction(isOther, ['.jp-Notebook .jp-OutputArea-output', before]);
        },
    },
    {
        name: 'stop a running cell',
        guide: 'commands',
        does: { ratoon: '*Stop*', lab: 'the button' },
        async ratoon(hands) {
            const { page } = hands;
            await our.fresh(page).click();
            await hands.type(SECONDS);
            await page.keyboard.press('Shift+Enter');
            const cell = page.locator('.cell[data-status="running"]');
            await hands.click(cell.getByRole('button', { name: 'Stop' }));
            await page.locator('.cell[data-status="interrupted"]').waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await their.write(hands, SECONDS);
            await page.keyboard.press('Shift+Enter');
            await page.locator('.jp-InputPrompt', { hasText: '*' }).waitFor();
            await hands.click(their.button(page, 'Interrupt the kernel'));
            await page.locator('.jp-OutputArea-output', { hasText: 'KeyboardInterrupt' }).waitFor();
        },
    },
    {
        name: 'replace a name in all cells',
        guide: 'interface',
        does: {
            ratoon: 'Ctrl-H, click the second field, *Replace all*',
            lab: 'Ctrl-H, click the second field, *Replace All*',
        },
        async ratoon(hands) {
            const { page } = hands;
            await our.write(hands, 'old = 1', 'print(old)');
            await hands.press('Control+h');
            await page.waitForSelector('.find-panel .find-text:focus');
            await hands.type('old');
            await hands.click(page.getByLabel('Replace with'));
            await hands.type('new');
            await hands.click(page.getByRole('button', { name: 'Replace all' }));
            await becomes(our.sources(page), ['new = 1', 'print(new)', '']);
        },
        async lab(hands) {
            const { page } = hands;
            await their.write(hands, 'old = 1', 'print(old)');
            await hands.press('Control+h');
            await page.waitForFunction(() => document.activeElement.matches('.jp-DocumentSearch-input'));
            await page.keyboard.type('old');
            await their.pace(page);
            await page.getByText('/2').first().waitFor();
            await hands.click(page.getByPlaceholder('Replace', { exact: true }));
            await page.keyboard.type('new');
            await their.pace(page);
            await hands.click(page.locator('.jp-DocumentSearch-overlay').getByText('Replace All'));
            await becomes(their.sources(page), ['new = 1', 'print(new)']);
        },
    },
    {
        name: 'duplicate the notebook',
        guide: 'files',
        does: { ratoon: '*Duplicate notebook* in the menu', lab: '*Duplicate Notebook* in the menu' },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, 'a = 1');
            await our.menu(hands, 'Duplicate notebook');
            await page.locator('.notice', { hasText: 'Duplicated as “main copy”' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, 'a = 1');
            await lab.menu(hands, 'File', 'Duplicate Notebook');
            await their.file(page, 'main-Copy1.ipynb').waitFor();
        },
    },
    {
        name: 'complete a name and show its documentation',
        guide: 'completer',
        does: { ratoon: 'Tab, Shift-Tab', lab: 'Tab, Enter, Shift-Tab' },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, DOCUMENTED);
            await our.fresh(page).click();
            await page.keyboard.type('meas');
            await page.locator('.cm-tooltip-autocomplete li', { hasText: 'measure' }).waitFor();
            await hands.press('Tab');
            await becomes(our.sources(page), [DOCUMENTED, 'measure', '']);
            await hands.press('Shift+Tab');
            await page.locator('.tip-doc', { hasText: 'the words of measure' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, DOCUMENTED);
            await their.last(page).click();
            await page.keyboard.type('meas');
            await hands.press('Tab');
            await page.locator('.jp-Completer-item', { hasText: 'measure' }).first().waitFor();
            await hands.press('Enter');
            await becomes(their.sources(page), [DOCUMENTED, 'measure']);
            await hands.press('Shift+Tab');
            await page.getByText('the words of measure').first().waitFor();
        },
    },
    {
        name: 'collapse an output',
        guide: 'notebook',
        does: { ratoon: 'click beside it', lab: 'click beside it' },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, 'print("shown")', 'shown');
            await hands.click(page.getByRole('button', { name: 'Collapse output' }));
            await page.locator('.output-note').waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, 'print("shown")', 'shown');
            await hands.click(page.locator('.jp-OutputCollapser').first());
            await page.locator('.jp-OutputPlaceholder').waitFor();
        },
    },
    {
        name: 'go to a heading through the table of contents',
        guide: 'toc',
        does: { ratoon: '*Outline*, the heading', lab: 'the tab at the left, the heading' },
        async ratoon(hands) {
            const { page } = hands;
            await our.fresh(page).click();
            await hands.type('# Beginning');
            for (const key of ['Escape', 'm']) await page.keyboard.press(key);
            for (const code of SCREENS) await ratoon.run(hands, code);
            assert.ok(await isAbove(page, '.cell h1'));
            await hands.click(page.getByRole('button', { name: 'Outline' }));
            await hands.click(page.locator('.outline-entry', { hasText: 'Beginning' }));
            await isInSight(page, '.cell h1', 'Beginning');
        },
        async lab(hands) {
            const { page } = hands;
            await their.write(hands, '# Beginning');
            for (const key of ['Escape', 'm', 'Shift+Enter']) await page.keyboard.press(key);
            for (const code of SCREENS) await lab.run(hands, code);
            assert.ok(await isAbove(page, '.jp-Cell h1'));
            await hands.click(page.locator('.lm-TabBar-tab[title^="Table of Contents"]'));
            await hands.click(page.locator('.jp-tocItem', { hasText: 'Beginning' }));
            await isInSight(page, '.jp-Cell h1', 'Beginning');
        },
    },
    {
        name: 'look at a value without changing the notebook',
        guide: 'notebook',
        does: {
            ratoon: '*Variables*',
            lab: '*New Console for Notebook* in its menu, type the name, Shift-Enter',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, 'value = 6 * 7');
            await hands.click(page.getByRole('button', { name: 'Variables' }));
            await page.locator('tr', { hasText: 'value' }).filter({ hasText: '42' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, 'value = 6 * 7');
            await hands.click(their.cell(page, 0).locator('.cm-content'), { button: 'right' });
            await hands.click(page.locator('.lm-Menu-item', { hasText: 'New Console for Notebook' }));
            await page.waitForFunction(() => document.activeElement.closest('.jp-CodeConsole-promptCell'));
            await hands.type('value');
            await hands.press('Shift+Enter');
            await page.locator('.jp-CodeConsole .jp-OutputArea-output', { hasText: '42' }).waitFor();
        },
    },
    {
        name: 'keep an output in view beside the notebook',
        guide: 'notebook',
        does: {
            ratoon: '*Keep in view* beside it',
            lab: '*Create New View for Cell Output* in its menu',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, 'print("shown")', 'shown');
            await page.locator('.output').hover();
            await hands.click(page.getByRole('button', { name: 'Keep in view' }));
            await page.locator('.kept-pane', { hasText: 'shown' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, 'print("shown")', 'shown');
            await hands.click(their.output(page), { button: 'right' });
            await hands.click(page.locator('.lm-Menu-item', { hasText: 'Create New View for Cell Output' }));
            await page.locator('.jp-LinkedOutputView', { hasText: 'shown' }).waitFor();
        },
    },
    {
        name: 'clear all outputs',
        guide: 'commands',
        does: {
            ratoon: '*Clear all outputs* in the menu',
            lab: '*Clear Outputs of All Cells* in the menu',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, 'print("shown")', 'shown');
            await our.menu(hands, 'Clear all outputs');
            await page.locator('.output').first().waitFor({ state: 'detached' });
        },
        async lab(hands) {
            await lab.run(hands, 'print("shown")', 'shown');
            await lab.menu(hands, 'Edit', 'Clear Outputs of All Cells');
            await their.output(hands.page).waitFor({ state: 'detached' });
        },
    },
    {
        name: 'upload a file and rename it',
        guide: 'files',
        does: {
            ratoon: '*Files*, *Upload…*, F2, Enter',
            lab: 'the upload button, click it, F2, Enter',
        },
        async ratoon(hands) {
            const { page } = hands;
            await hands.click(page.getByRole('button', { name: 'Files' }));
            await hands.upload(page.getByRole('button', { name: 'Upload' }), FILE);
            await page.waitForFunction(() => document.activeElement.closest('[data-name="data.csv"]'));
            await hands.press('F2');
            await page.waitForFunction(() => document.activeElement.closest('dialog'));
            await page.keyboard.press('Control+a');
            await hands.type('other.csv');
            await hands.press('Enter');
            await page.locator('[data-name="other.csv"]').waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await hands.upload(their.button(page, 'Upload Files'), FILE);
            await hands.click(their.file(page, 'data.csv'));
            await hands.press('F2');
            await page.waitForFunction(() => document.activeElement.matches('.jp-DirListing-editor'));
            await page.keyboard.press('Control+a');
            await hands.type('other.csv');
            await hands.press('Enter');
            await their.file(page, 'other.csv').waitFor();
        },
    },
    {
        name: 'look at a CSV file as a table',
        guide: 'file_formats',
        does: {
            ratoon: '*Files*, the file',
            lab: 'double-click it',
        },
        async ratoon(hands) {
            const { page } = hands;
            await ratoon.run(hands, TABLE, '15');
            await hands.click(page.getByRole('button', { name: 'Files' }));
            await hands.click(page.locator('[data-name="data.csv"] .file-name'));
            await page.locator('dialog .grid-cell', { hasText: 'b' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await lab.run(hands, TABLE, '15');
            await hands.doubleClick(their.file(page, 'data.csv'));
            await page.locator('.jp-CSVViewer .lm-DataGrid').waitFor();
        },
    },
    {
        name: 'run a command in a terminal',
        guide: 'terminal',
        does: { ratoon: '*New terminal* in the menu, Enter', lab: '+, *Terminal*, Enter' },
        async ratoon(hands) {
            const opened = hands.page.waitForEvent('popup');
            await our.menu(hands, 'New terminal');
            hands.page = await opened;
            await hands.page.getByRole('button', { name: 'Close terminal' }).waitFor();
            await hands.page.keyboard.type('echo sum $((40 + 2))');
            await hands.press('Enter');
            await hands.page.locator('.xterm-rows', { hasText: 'sum 42' }).waitFor();
        },
        async lab(hands) {
            const { page } = hands;
            await hands.click(their.button(page, 'New Launcher'));
            await hands.click(page.locator('.jp-LauncherCard', { hasText: 'Terminal' }));
            await page.waitForFunction(() => document.activeElement.closest('.jp-Terminal'));
            await page.keyboard.type('touch sum-$((40 + 2))');
            await hands.press('Enter');
            await their.file(page, 'sum-42').waitFor();
        },
    },
    {
        name: 'export the notebook as a Python script',
        guide: 'export',
        does: {
            ratoon: '*Download as .py* in the menu',
            lab: '*Save and Export Notebook As*, *Executable Script*',
        },
        async ratoon(hands) {
            await ratoon.run(hands, 'a = 1');
            const download = hands.page.waitForEvent('download');
            await our.menu(hands, 'Download as .py');
            await hasCode(await download);
        },
        async lab(hands) {
            await lab.run(hands, 'a = 1');
            const download = hands.page.waitForEvent('download');
            await lab.menu(hands, 'File', 'Save and Export Notebook As', 'Executable Script');
            await hasCode(await download);
        },
    },
];

/** Whether an output has other text than before. */
const isOther = ([selector, before]) => {
    const text = [...document.querySelectorAll(selector)].at(-1)?.textContent.trim();
    return text && text !== before.trim();
};

/** Whether an element is above what the window shows. */
const isAbove = (page, selector) =>
    page.$eval(selector, (one) => one.getBoundingClientRect().bottom < 0).catch(() => true);

async function hasCode(download) {
    assert.match(download.suggestedFilename(), /^main\.py$/);
    assert.match(await readFile(await download.path(), 'utf8'), /^a = 1$/m);
}
