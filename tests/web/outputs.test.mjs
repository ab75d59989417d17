import assert from 'node:assert/strict';
import { test } from 'node:test';
import { libraryOf, plotlyHtml, vegaHtml } from '../../web/outputs/libraries.js';
import { lastValue } from '../../web/outputs/output-text.js';
import { withLinks } from '../../web/text/urls.js';
import { formulaAt, withFormulas } from '../../web/text/formulas.js';
import { asBytes, choose, endingOf, imageAddress } from '../../web/outputs/mime.js';
import { OUTPUT_WORDS } from '../../web/outputs/output-words.js';
import { lineOfCell, shownAtFirst, taken } from '../../web/text/traceback.js';

test('the richest representation is shown', () => {
    const how = (bundle) => choose(bundle).how;
    assert.equal(how({ 'text/plain': 'x', 'text/html': '<b>' }), 'frame');
    assert.equal(how({ 'text/plain': 'x', 'image/svg+xml': '<svg/>' }), 'image');
    assert.equal(how({ 'text/plain': 'x', 'text/latex': '$x$' }), 'latex');
    assert.equal(how({ 'text/plain': 'x', 'application/pdf': 'JVBERi0=' }), 'file');
    assert.equal(how({ 'text/plain': 'x', 'application/octet-stream': 'AAAA' }), 'file');
    assert.equal(how({ 'text/plain': 'x', 'application/vnd.whatever+json': { a: 1 } }), 'text');
    assert.equal(how({ 'application/vnd.whatever+json': { a: 1 } }), 'json');
    assert.equal(how({ 'text/plain': 'x' }), 'text');
    assert.deepEqual(choose({}), { how: 'text', mime: 'text/plain', data: '' });
    assert.deepEqual(choose({ 'text/plain': ['a\n', 'b'] }).data, 'a\nb');
    assert.deepEqual(choose({ 'application/json': { a: [1] }, 'text/plain': 'x' }).data, { a: [1] });
});

test('a row shows the last line that a cell has printed, as a terminal shows it, or its value', () => {
    const stream = (name, ...pieces) => ({ key: 1, output_type: 'stream', name, pieces });
    const value = (data) => ({
        key: 2,
        output_type: 'execute_result',
        data,
        metadata: {},
        execution_count: 1,
    });
    /** @returns {any} */
    const of = (...outputs) => ({ rev: 1, outputs });
    assert.equal(lastValue(of()), '');
    assert.equal(lastValue(of(stream('stdout', 'one\n', 'tw', 'o\n', '\n'))), 'two');
    assert.equal(lastValue(of(stream('stdout', ' 10 %\r 99 %\r100 %\n'))), '100 %');
    assert.equal(lastValue(of(stream('stdout', '\x1b[1mbold\x1b[0m'))), 'bold');
    assert.equal(lastValue(of(stream('stdout', 'R2 0.71\n'), stream('stderr', 'warning\n'))), 'R2 0.71');
    assert.equal(lastValue(of(value({ 'text/plain': '0.7197', 'text/html': '<b>' }))), '0.7197');
    assert.equal(lastValue(of(value({ 'text/plain': ['a\n', '[3 rows]'] }))), '[3 rows]');
    assert.equal(lastValue(of(value({ 'text/plain': '<Math object>', 'text/latex': '$1$' }))), '');
    assert.equal(lastValue(of(value({ 'text/plain': '<Mine at 0x7f>' }))), '<Mine at 0x7f>');
    assert.equal(lastValue(of(stream('stdout', 'x'.repeat(5000)))).length, 120);
    const run = of(stream('stdout', 'first'));
    assert.equal(lastValue(run), 'first');
    run.outputs[0].pieces.push('\nsecond');
    run.rev += 1;
    assert.equal(lastValue(run), 'second', 'after more output');
});

test('a widget is shown as its plain text', () => {
    const view = { 'application/vnd.jupyter.widget-view+json': { model_id: 'x' } };
    assert.deepEqual(choose({ ...view, 'text/plain': 'IntSlider()' }), {
        how: 'widget',
        mime: 'application/vnd.jupyter.widget-view+json',
        data: { 'text/plain': 'IntSlider()' },
    });
    assert.deepEqual(choose(view).data, { 'text/plain': '' });
});

test('plots given as data become scripts that draw them, and their text cannot end the script', () => {
    const evil = { data: [{ name: '</script><script>alert(1)</script>\u2028' }], layout: {} };
    for (const text of [
        plotlyHtml(evil),
        vegaHtml(evil, true),
        choose({ 'application/vnd.plotly.v1+json': evil, 'text/html': 'other' }).data,
    ]) {
        assert.equal(text.match(/<\/script>/g).length, 2);
        assert.doesNotMatch(text, /\u2028/);
    }
    assert.match(choose({ 'application/vnd.vegalite.v5+json': {} }).data, /mode: 'vega-lite'/);
    assert.match(choose({ 'application/vnd.vega.v6.json': {} }).data, /mode: 'vega'/);
    assert.doesNotMatch(choose({ 'audio/wav': '"><script>' }).data, /<script>/);
});

test('public addresses of plotting libraries are mapped to the user’s packages', () => {
    const known = {
        'https://cdn.plot.ly/plotly-3.1.0.min.js': 'plotly',
        'https://cdn.jsdelivr.net/npm/plotly.js-dist-min@2.35.2/plotly.min.js': 'plotly',
        'https://cdn.bokeh.org/bokeh/release/bokeh-3.9.2.min.js': 'bokeh',
        'https://cdn.bokeh.org/bokeh/release/bokeh-tables-3.9.2.min.js': 'bokeh-tables',
        'https://cdn.jsdelivr.net/npm/vega@6?noext': 'nothing',
        'https://cdn.jsdelivr.net/npm/vega-lite@6.1.0?noext': 'nothing',
        'https://cdn.jsdelivr.net/npm/vega-embed@7?noext': 'vega',
        'https://cdnjs.cloudflare.com/ajax/libs/mathjax/2.7.5/MathJax.js?config=TeX': 'nothing',
    };
    for (const [url, name] of Object.entries(known)) assert.equal(libraryOf(url), name, url);
    for (const url of [
        'https://evil.example/x.js',
        'https://cdn.plot.ly.evil.example/x.js',
        'https://evil.example/?/plotly@3',
        '',
    ])
        assert.equal(libraryOf(url), null, url);
});

test('addresses in text are found without the punctuation around them', () => {
    const links = (text) =>
        withLinks(text)
            .filter((one) => one.isLink)
            .map((one) => one.text);
    assert.deepEqual(links('see https://a.b/c_(d). And (http://x.y/z?q=1)!'), [
        'https://a.b/c_(d)',
        'http://x.y/z?q=1',
    ]);
    assert.deepEqual(links('javascript://x ftp://y https:// none'), []);
    assert.deepEqual(links('https://a.b\u202egnp.x'), ['https://a.b']);
    assert.equal(
        withLinks('a https://b.c, d')
            .map((one) => one.text)
            .join(''),
        'a https://b.c, d',
    );
});

test('formulas are distinguished from amounts of money', () => {
    const tex = (text) =>
        withFormulas(text)
            .filter((part) => typeof part !== 'string')
            .map((part) => part.tex);
    assert.deepEqual(tex('costs $5 and $6, or $ 7$'), []);
    assert.deepEqual(tex('$x$ and $a_1 + b$, $$c$$, \\(d\\), \\\\(e\\\\), \\[f\\]'), [
        'x',
        'a_1 + b',
        'c',
        'd',
        'e',
        'f',
    ]);
    assert.deepEqual(tex('\\begin{equation} x \\end{equation}!'), ['\\begin{equation} x \\end{equation}']);
    assert.deepEqual(tex('\\begin{equation} x'), []);
    assert.deepEqual(tex('$a\n\nb$'), []);
    assert.equal(formulaAt('$$x$$', 0).isDisplay, true);
    assert.equal(formulaAt(`$$${'x'.repeat(30000)}$$`, 0), null);
});

const FAILED = {
    ename: 'ValueError',
    evalue: 'no\ngood',
    traceback: [
        '\x1b[31m---------------------------------------------------------------------------\x1b[39m',
        '\x1b[31mValueError\x1b[39m                                Traceback (most recent call last)',
        '\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[12]\x1b[39m\x1b[32m, line 4\x1b[39m, in \x1b[36mf\x1b[39m(x)\n\x1b[32m----> 4\x1b[39m raise ValueError()\n',
        '\x1b[36mFile \x1b[39m\x1b[32m~/lib/x.py:3\x1b[39m, in g()\n      3 h()\n',
        '\x1b[31mValueError\x1b[39m: no\ngood',
    ],
};

test('an error is split into its title, its frames and the lines of cells', () => {
    const { title, frames, after } = taken(FAILED);
    assert.equal(title, 'ValueError: no\ngood');
    assert.equal(after, '');
    assert.deepEqual(frames[0].place, { cell: 12, line: 4 });
    assert.equal(frames[0].rest, ', in f(x)');
    assert.deepEqual(
        frames.map((one) => one.isFrame),
        [true, true],
    );
    assert.equal(frames[1].place, null);
});

test('the notes of an error and the text of a syntax error are kept', () => {
    const noted = {
        ...FAILED,
        traceback: [...FAILED.traceback.slice(0, -1), 'ValueError: no\ngood\na note'],
    };
    assert.equal(taken(noted).after, 'a note');
    const syntax = {
        ename: 'SyntaxError',
        evalue: 'invalid syntax (1234.py, line 1)',
        traceback: [
            '  \x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[1]\x1b[39m\x1b[32m, line 1\x1b[39m\n    x = = 2\n        ^\n\x1b[31mSyntaxError\x1b[39m\x1b[31m:\x1b[39m invalid syntax\n',
        ],
    };
    const { frames } = taken(syntax);
    assert.deepEqual(
        frames.map(({ place, text }) => [place, text]),
        [[{ cell: 1, line: 1 }, '    x = = 2\n        ^']],
    );
    assert.deepEqual(taken({ ename: 'KernelDied', evalue: 'gone', traceback: [] }), {
        title: 'KernelDied: gone',
        frames: [],
        after: '',
    });
    assert.equal(
        taken({ ename: 'KeyboardInterrupt', evalue: '', traceback: ['KeyboardInterrupt: '] }).after,
        '',
    );
    assert.deepEqual(taken({ ename: 'E', evalue: '', traceback: ['Input In [3], in <module>'] }).title, 'E');
    assert.equal(
        taken({
            ename: 'KeyboardInterrupt',
            evalue: '',
            traceback: ['Cell In[3], line 1', 'KeyboardInterrupt: '],
        }).after,
        '',
        'an error without a message has no colon',
    );
});

const filed = (n, path) =>
    Array.from({ length: n }, (_, i) => `File ${path}:${i}, in g${i}()\n      ${i} h()\n`);
const library = (n) => filed(n, '~/env/lib/python3.11/site-packages/lib/x.py');
const own = (n) => filed(n, '~/nb/x.py');
const CAUSE = '\nThe above exception was the direct cause of the following exception:\n';
const cell = (number, line, more = '') =>
    `\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[${number}]\x1b[39m\x1b[32m, line ${line}\x1b[39m${more}\n----> ${line} x()\n`;
const framesOf = (...traceback) =>
    taken({ ename: 'KeyError', evalue: "'k'", traceback: [...traceback, "KeyError: 'k'"] }).frames;

/** What is shown first: cells and lines, names of functions, and how many are hidden. */
const shown = (...traceback) =>
    shownAtFirst(framesOf(...traceback), 4).map((one) =>
        'hidden' in one
            ? `${one.steps} ${one.isLibrary ? 'library' : 'more'}`
            : one.place
              ? `${one.place.cell}:${one.place.line}`
              : (one.text.match(/g\d+/)?.[0] ?? '…'),
    );

test("in a deep traceback the cell's own last line is shown", () => {
    assert.deepEqual(shown(cell(4, 7), ...own(9)), ['4:7', '6 more', 'g6', 'g7', 'g8']);
    assert.deepEqual(shown(cell(4, 7), ...own(3)), ['4:7', 'g0', 'g1', 'g2'], 'a few are all shown');
    assert.deepEqual(
        shown(cell(4, 7), cell(4, 2, ', in f()'), cell(1, 5, ', in other()'), ...own(7)),
        ['1 more', '4:2', '1:5', '4 more', 'g4', 'g5', 'g6'],
        'the line of the last cell is shown, too',
    );
    assert.deepEqual(shown(cell(4, 7), ...own(9), cell(4, 2, ', in <lambda>(x)')), [
        '8 more',
        'g7',
        'g8',
        '4:2',
    ]);
    assert.deepEqual(shown(cell(4, 7), ...own(6), CAUSE, cell(4, 9), ...own(6)), [
        '7 more',
        '4:9',
        '3 more',
        'g3',
        'g4',
        'g5',
    ]);
    assert.deepEqual(shown(...own(8)), ['5 more', 'g5', 'g6', 'g7'], 'an error without a line of the cell');
    const { frames } = taken({ ename: 'KeyError', evalue: '', traceback: [cell(4, 7), ...own(9)] });
    assert.equal(shownAtFirst(frames, null)[0], frames[0], 'the number of an imported cell is not known');
});

test('frames of libraries are hidden beside frames of the user, however few', () => {
    assert.deepEqual(shown(cell(4, 7), ...library(1)), ['4:7', '1 library']);
    assert.deepEqual(shown(cell(4, 7), ...library(2), ...own(1), ...library(3)), [
        '4:7',
        '2 library',
        'g0',
        '3 library',
    ]);
    assert.deepEqual(shown(...library(3)), ['g0', 'g1', 'g2'], 'there are no others');
    assert.deepEqual(
        shown(...library(3), "KeyError: 'a'", CAUSE, cell(4, 7), ...library(2)),
        ['3 library', '4:7', '2 library'],
        'an error inside a library that caused that of the user is hidden, too',
    );
    assert.deepEqual(shown(cell(4, 6), ...library(3), CAUSE, cell(4, 7)), ['4:6', '3 library', '…', '4:7']);
    const paths = {
        '/opt/python/lib/python3.11/json/decoder.py:353': 'decoder.py:353',
        '/home/me/nb/.venv/lib/python3.12/site-packages/pandas/core/frame.py:4330': 'frame.py:4330',
        '/usr/lib/python3/dist-packages/numpy/x.py:1': 'x.py:1',
        'pandas/_libs/index.pyx:172': 'index.pyx:172',
        '<frozen importlib._bootstrap>:1360': '<frozen importlib._bootstrap>:1360',
        '/home/me/nb/helper.py:3': null,
        '~/library/python/helper.py:3': null,
        '<string>:1': null,
    };
    for (const [path, place] of Object.entries(paths))
        assert.equal(framesOf(`File ${path}, in f(x)\n  x`)[0].library, place, path);
});

test('a button names the hidden frames and, at the end, where the error was raised', () => {
    const [, first, , last] = shownAtFirst(framesOf(cell(4, 7), ...library(1), ...own(1), ...library(3)), 4);
    assert.equal(OUTPUT_WORDS.frames(/** @type {any} */ (first), false), '1 library frame');
    assert.equal(OUTPUT_WORDS.frames(/** @type {any} */ (last), true), '3 library frames, last x.py:2');
});

test('the line at which a cell ended is that of its last error', () => {
    assert.equal(lineOfCell(framesOf(cell(4, 7), cell(4, 2, ', in f()'), ...library(20)), 4), 7);
    const between = 'During handling of the above exception, another exception occurred:\n';
    assert.equal(lineOfCell(framesOf(cell(4, 7), ...library(20), between, cell(4, 9), ...library(20)), 4), 9);
    assert.equal(lineOfCell(framesOf(cell(4, 7), between, ...library(20)), 4), 7);
    assert.equal(lineOfCell(framesOf(...library(20)), 4), undefined);
});

test('images and files are decoded to their bytes', () => {
    assert.match(
        imageAddress('image/svg+xml', '<svg width="1"><a>"#</a></svg>'),
        /^data:image\/svg\+xml,%3Csvg%20xmlns/,
    );
    assert.equal(imageAddress('image/png', 'aG\nk='), 'data:image/png;base64,aGk=');
    assert.deepEqual([...asBytes('application/pdf', 'aGk=')], [104, 105]);
    assert.deepEqual([...asBytes('image/svg+xml', 'hi')], [104, 105]);
    assert.deepEqual(
        [
            endingOf('image/jpeg'),
            endingOf('application/pdf'),
            endingOf('application/vnd.apache.parquet'),
            endingOf('image/svg+xml'),
        ],
        ['jpg', 'pdf', 'parquet', 'svg'],
    );
});
