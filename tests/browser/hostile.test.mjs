// Text designed to crash the page: the page keeps working, also after a reload. Only on the real
// server. Nothing is timed here; tests/web/linear.test.mjs checks that the work grows linearly.

import assert from 'node:assert/strict';
import { IN_FULL, nightly } from './browser.mjs';
import { openPage } from './pages.mjs';
import { page, prints, ran, run, sees, test } from './harness.mjs';

const real = { skip: !process.env.RATOON_BIN };
const origin = () => new URL(page.url()).origin;

/** Checks that the page still runs scripts and paints. */
async function lives() {
    for (let i = 0; i < 3; i += 1)
        assert.equal(
            await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => done('alive')))),
            'alive',
        );
}

const nested = (n) => `${'\\frac{1}{'.repeat(n)}2${'}'.repeat(n)}`;

test(
    'formulas nested too deeply are shown as their source, in text, in outputs and in imported files',
    nightly(real),
    async () => {
        await run(
            `from IPython.display import Latex, Markdown\nn = 150\nf = r"\\frac{1}{" * n + "2" + "}" * n\nLatex("$$" + f + "$$")`,
        );
        await ran(1);
        await page.waitForFunction(() =>
            document.querySelector('.latex')?.textContent.includes('\\frac{1}{\\frac{1}{'),
        );
        await run('Markdown("before $" + f + "$ after")');
        await ran(2);
        await page.waitForFunction(
            () =>
                document.querySelector('.prose')?.textContent.includes('after') &&
                document.querySelector('.prose .formula')?.textContent.includes('\\frac{1}{'),
        );
        // Nesting without braces, and nesting by a macro.
        await run('Latex("$" + r"\\color{red}" * 1000 + "x$")');
        await ran(3);
        await run(
            'Latex(r"$\\def\\a#1{\\sqrt{\\sqrt{\\sqrt{\\sqrt{#1}}}}}" + r"\\a{" * 45 + "x" + "}" * 45 + "$")',
        );
        await ran(4);
        await run('Latex("$" + r"\\sqrt{" * 40 + "x" + "}" * 40 + "$")');
        await ran(5);
        await page.waitForFunction(() => document.querySelectorAll('.latex .katex').length === 1);
        assert.equal(await page.locator('.formula[data-source]').count(), 4);
        await page.reload();
        await ran(5);
        await page.waitForFunction(
            () =>
                document.querySelectorAll('.latex .katex').length === 1 &&
                document.querySelectorAll('.formula[data-source]').length === 4,
        );
        const cell = {
            cell_type: 'markdown',
            id: 'a',
            metadata: {},
            source: `# Theirs\n\n$$${nested(150)}$$\n\n$${nested(400)}$`,
        };
        const file = JSON.stringify({ nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [cell] });
        await page.evaluate(
            (body) =>
                fetch('/api/notebooks/import?name=theirs', {
                    method: 'POST',
                    headers: { 'content-type': 'application/json' },
                    body,
                }),
            file,
        );
        const theirs = await openPage(page.context().browser(), {
            storageState: await page.context().storageState(),
        });
        await theirs.goto(`${origin()}/n/theirs`);
        await sees('Theirs', theirs);
        await theirs.waitForFunction(
            () =>
                [...document.querySelectorAll('.prose .formula[data-source]')].length === 2 ||
                document.querySelector('.cm-content')?.textContent.includes('Theirs'),
        );
        assert.equal(await theirs.evaluate(() => 6 * 7), 42);
        await theirs.context().close();
    },
);

const MB = 1_000_000;
const print = (text) => `import sys\n_ = sys.stdout.write(${text})`;
const show = (mime, text) =>
    `from IPython.display import display\ndisplay({${JSON.stringify(mime)}: ${text}}, raw=True)`;

/** @type {Record<string, [string, string][]>} */
const HOSTILE = {
    'what cells print': [
        ['backspaces', print(`"x" * 200_000 + "\\b" * 200_000 + "\\b\\bx" * 200_000`)],
        ['colours and cursors', print(`"\\x1b[31mab\\x1b[32m\\b\\x1b[K" * 50_000`)],
        ['lines that are written over', print(`"z" * 300_000 + "\\r\\x1b[1Kab" * 80_000`)],
        ['two lines in turn', print(`"\\x1b[31ma\\x1b[32mb" * 20_000 + "\\n" + "\\x1b[Ax\\x1b[B" * 80_000`)],
        ['an address with brackets', print(`"http://a" + ")" * ${MB}`)],
        ['an address with dots', print(`"http://a" + "." * ${MB} + "b"`)],
    ],
    // These texts stay just below the length from which the page shows the source instead.
    prose: [
        ['dollars', show('text/markdown', '"$a" * 47_000')],
        ['dollars, backticks and brackets', show('text/markdown', '"$a`[" * 24_000')],
        ['brackets', show('text/markdown', `"[" * 95_000`)],
        ['quotes', show('text/markdown', `"> " * 47_000 + "x"`)],
        ['quoted lines', show('text/markdown', `"> " * 90 + "x\\n" * 47_000`)],
        ['lists', show('text/markdown', `"\\n".join("  " * i + "- x" for i in range(280))`)],
        ['emphasis', show('text/markdown', `"*a **b " * 13_500`)],
        ['elements', show('text/markdown', `"<div>" * 19_000`)],
        ['formulas', show('text/markdown', `"$$\\nx\\n$$\\n" * 10_500`)],
        ['backticks', show('text/markdown', `"".join("\`" * (i % 300) + "a" for i in range(600))`)],
        ['a table', show('text/markdown', `"|a" * 300 + "\\n" + "|-" * 300 + "\\n" + "|b\\n" * 30_000`)],
        ['addresses', show('text/markdown', `"a.b@c.d/" * 11_500`)],
        ['autolinks', show('text/markdown', `"<http://a" * 10_500`)],
    ],
    'outputs of other types': [
        ['a megabyte of prose', show('text/markdown', '"$a" * 500_000')],
        ['a megabyte of dollars in LaTeX', show('text/latex', '"$a" * 500_000')],
        ['dollars in LaTeX', show('text/latex', '"$a" * 47_000')],
        ['one long formula', show('text/latex', `"x" * ${MB}`)],
        [
            'environments',
            show('text/latex', '"".join(r"\\begin{a%s}" % chr(97 + i % 26) for i in range(9_500))'),
        ],
        ['one line of text', show('text/plain', `"x" * ${MB}`)],
        ['JSON', show('application/json', `{"a": ["x" * 1000] * 1000}`)],
        ['JSON that is nested', show('application/json', `__import__("json").loads("[" * 90 + "]" * 90)`)],
        ['HTML', show('text/html', `"<b>" * 300_000`)],
    ],
};

for (const [kind, texts] of Object.entries(HOSTILE)) {
    const all = IN_FULL ? texts : texts.slice(2, 3);
    test(`the page keeps working with hostile text in ${kind}, also after a reload`, real, async (t) => {
        for (const [i, [name, code]] of all.entries()) {
            t.diagnostic(name);
            await run(code);
            await ran(i + 1);
            await lives();
        }
        await page.reload();
        await ran(all.length);
        await lives();
        await run('print("goes on")');
        await prints('goes on');
    });
}

test('the page keeps working with an error whose text consists of line ends', nightly(real), async () => {
    await run(`raise ValueError("\\n" * ${MB} + "x")`);
    await page.waitForSelector('.cell[data-status="error"]');
    await lives();
    await run('print("goes on")');
    await prints('goes on');
});
