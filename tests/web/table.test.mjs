// The grid of data frames without a browser: its position in a million rows, which rows it
// requests, how keys move in it, and which data frame an output shows.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    columnsInView,
    conditionsFor,
    fileNameOf,
    initialWidths,
    nextSort,
    pinnedCount,
    unquoted,
} from '../../web/table/grid-columns.js';
import { summaryText } from '../../web/table/column-summary.js';
import { isIn, moved, only, rangeOf } from '../../web/table/grid-position.js';
import { KEPT, LoadedRows, PAGE } from '../../web/table/loaded-rows.js';
import { MAX_HEIGHT, RowScroll } from '../../web/table/row-scroll.js';
import { shownTable } from '../../web/table/shown-table.js';
import { TableData } from '../../web/table/table-data.js';

const ROW = 26;
const VIEW = 520;

function scrollOf(rows) {
    const scroll = new RowScroll();
    scroll.resize(rows * ROW, VIEW);
    return scroll;
}

test('a short table scrolls by pixels', () => {
    const scroll = scrollOf(1000);
    assert.equal(scroll.height, 1000 * ROW);
    scroll.onScroll(1234);
    assert.equal(scroll.top, 1234);
    assert.equal(scroll.goTo(1e9), 1000 * ROW - VIEW, 'not beyond the last row');
    scroll.resize(10 * ROW, VIEW);
    assert.deepEqual([scroll.top, scroll.bar], [0, 0], 'all rows are visible');
});

test('a table of ten million rows is no higher than browsers allow, and reaches every row', () => {
    const scroll = scrollOf(10_000_000);
    assert.equal(scroll.height, MAX_HEIGHT);
    scroll.onScroll(scroll.maxBar);
    assert.equal(scroll.top, scroll.maxTop, 'the last row');
    scroll.onScroll(scroll.maxBar / 2);
    assert.equal(scroll.top, scroll.maxTop / 2, 'a jump goes to the same share of the rows');
    const before = scroll.top;
    scroll.onScroll(scroll.bar + 100);
    assert.equal(scroll.top, before + 100, 'a small step moves by its own pixels');
    const after = scroll.top;
    // After the gesture, the scroll bar is moved to where the rows are; the rows do not move.
    scroll.bar = scroll.barOf();
    scroll.onScroll(Math.round(scroll.bar));
    assert.equal(scroll.top, after);
    const bar = scroll.goTo(ROW * 7_654_321);
    scroll.onScroll(Math.floor(bar));
    assert.equal(scroll.top, ROW * 7_654_321);
    scroll.onScroll(0);
    assert.equal(scroll.top, 0);
});

test('only missing rows in view are requested, in whole pages', () => {
    const rows = new LoadedRows();
    assert.deepEqual(rows.missing(0, 30), { offset: 0, limit: PAGE });
    rows.add(
        0,
        Array.from({ length: 60 }, () => ['a']),
    );
    assert.equal(rows.missing(0, 60), null);
    assert.deepEqual(rows.missing(50, 80), { offset: 60, limit: PAGE }, 'an answer may have fewer rows');
    assert.deepEqual(rows.missing(999_950, 999_990), { offset: 999_900, limit: PAGE });
    assert.equal(rows.missing(10, 10), null);
});

test('rows that are far away are forgotten', () => {
    const rows = new LoadedRows();
    for (let from = 0; from < KEPT + 1000; from += 100)
        rows.add(
            from,
            Array.from({ length: 100 }, () => []),
        );
    assert.equal(rows.rows.size, KEPT);
    assert.equal(rows.at(0), undefined);
    assert.notEqual(rows.at(KEPT + 999), undefined);
});

const press = (key, held = '') => ({
    key,
    ctrlKey: held.includes('ctrl'),
    metaKey: false,
    shiftKey: held.includes('shift'),
});
const extent = { rows: 1000, columns: 5, page: 20 };
/** Where the keys lead: "row column". */
const after = (position, ...keys) => {
    for (const key of keys)
        position = moved(position, press(...key.split(' ').reverse()), extent) ?? position;
    return position;
};
const place = ({ at }) => [at.row, at.column];

test('keys move the active cell as in other grids', () => {
    const begin = only(10, 2);
    assert.deepEqual(place(after(begin, 'ArrowDown', 'ArrowRight')), [11, 3]);
    assert.deepEqual(place(after(begin, 'Home')), [10, 0]);
    assert.deepEqual(place(after(begin, 'End')), [10, 4]);
    assert.deepEqual(place(after(begin, 'PageDown')), [30, 2]);
    assert.deepEqual(place(after(begin, 'PageUp')), [0, 2]);
    assert.deepEqual(place(after(begin, 'PageUp', 'ArrowUp')), [-1, 2], 'the header');
    assert.deepEqual(place(after(only(-1, 2), 'PageUp', 'ArrowDown')), [0, 2]);
    assert.deepEqual(place(after(begin, 'ctrl Home')), [0, 0]);
    assert.deepEqual(place(after(begin, 'ctrl End')), [999, 4]);
    assert.deepEqual(place(after(begin, 'ctrl ArrowDown')), [999, 2]);
    assert.deepEqual(place(after(begin, 'ctrl ArrowUp')), [0, 2]);
    assert.deepEqual(place(after(begin, 'ctrl ArrowRight')), [10, 4]);
    assert.deepEqual(place(after(only(999, 4), 'ArrowDown', 'ArrowRight')), [999, 4], 'the last cell');
    assert.equal(moved(begin, press('x'), extent), null);
    assert.deepEqual(place(moved(only(-1, 0), press('ArrowDown'), { ...extent, rows: 0 })), [-1, 0]);
});

test('Shift extends the selection, and whole rows and columns can be selected', () => {
    const some = after(only(10, 2), 'shift ArrowDown', 'shift ArrowLeft');
    assert.deepEqual(rangeOf(some), { top: 10, bottom: 11, left: 1, right: 2 });
    assert.deepEqual([isIn(rangeOf(some), 11, 1), isIn(rangeOf(some), 12, 1)], [true, false]);
    assert.deepEqual(rangeOf(after(only(0, 2), 'shift ArrowUp')), { top: 0, bottom: 0, left: 2, right: 2 });
    const all = { top: 0, bottom: 999, left: 0, right: 4 };
    assert.deepEqual(rangeOf(after(only(10, 2), 'ctrl a')), all);
    assert.deepEqual(rangeOf(moved(only(3, 2), press(' ', 'shift'), extent)), { ...all, top: 3, bottom: 3 });
    assert.deepEqual(rangeOf(moved(only(3, 2), press(' ', 'ctrl'), extent)), { ...all, left: 2, right: 2 });
    assert.equal(rangeOf(only(-1, 2)), null, 'a header is no value');
    assert.equal(isIn(null, 1, 1), false);
});

/** @type {any[]} */
const COLUMNS = [
    { name: '', dtype: 'int64', kind: 'number', is_index: true },
    { name: 'city', dtype: 'object', kind: 'text', is_index: false },
    { name: 'population of the metropolitan area', dtype: 'int64', kind: 'number', is_index: false },
];

test('only columns in view have elements, and index columns stay if they leave room', () => {
    const widths = initialWidths(COLUMNS, [['0', 'Lisbon '.repeat(40), '1']]);
    assert.deepEqual(widths, [96, 320, 320]);
    assert.deepEqual([pinnedCount(COLUMNS, widths, 1000), pinnedCount(COLUMNS, widths, 120)], [1, 0]);
    const many = Array.from({ length: 200 }, () => 100);
    assert.deepEqual(columnsInView(many, 0, 0, 350), { first: 0, end: 4, before: 0 });
    assert.deepEqual(columnsInView(many, 1, 1050, 350), { first: 11, end: 14, before: 1000 });
    assert.deepEqual(columnsInView(many, 1, 19_650, 350), { first: 197, end: 200, before: 19_600 });
    assert.deepEqual(columnsInView([], 0, 0, 350), { first: 0, end: 0, before: 0 });
});

test('a header sorts up, down, and not at all', () => {
    const up = nextSort(null, 2);
    const down = nextSort(up, 2);
    assert.deepEqual(
        [up, down],
        [
            { column: 2, descending: false },
            { column: 2, descending: true },
        ],
    );
    assert.equal(nextSort(down, 2), null);
    assert.deepEqual(nextSort(down, 1), { column: 1, descending: false });
});

test('conditions, file names and single values', () => {
    assert.equal(conditionsFor('text')[0], 'contains');
    assert.ok(!conditionsFor('bool').includes('less'));
    assert.equal(fileNameOf('frames["größe"].head()'), 'frames-größe-head');
    assert.equal(fileNameOf('[]'), 'table');
    assert.deepEqual(['a\n', '"a ""b""\n"\n', '"'].map(unquoted), ['a', 'a "b"\n', '"']);
});

const HTML = '<div><table border="1" class="dataframe"><tr></tr></table></div>';
/** @returns {any} */
const result = (data, execution_count = 3) => ({ output_type: 'execute_result', data, execution_count });
const displayed = (data) => ({ output_type: 'display_data', data });
const of = (code, ...outputs) => {
    const run = /** @type {any} */ ({ state: 's1', code, outputs });
    return outputs.map((item) => shownTable(run, item)?.expression ?? null);
};

test('an output shows the data frame that Python keeps as the result of its cell', () => {
    /** @type {any} */
    const run = { state: 's1', code: 'df = load()\ndf.head(\n    9\n)\n# end', outputs: [] };
    const shown = { state: 's1', expression: 'Out[3]', title: 'df.head(' };
    assert.deepEqual(shownTable(run, result({ 'text/html': [HTML] })), shown);
    assert.equal(shownTable({ ...run, state: null }, result({ 'text/html': HTML })), null, 'the cell failed');
    assert.deepEqual(of('s', result({ 'text/plain': '0    1\n1    2\nName: a, dtype: int64' })), ['Out[3]']);
    const category = '0    a\ndtype: category\nCategories (1, object): ["a"]';
    assert.deepEqual(of('s', result({ 'text/plain': category })), ['Out[3]']);
    assert.deepEqual(of('a', result({ 'text/plain': 'array([1, 2], dtype=int8)' })), [null]);
    assert.deepEqual(of('x', result({ 'text/html': '<table><tr></tr></table>', 'text/plain': 'x' })), [null]);
    assert.deepEqual(of('x', { output_type: 'stream', name: 'stdout', pieces: [HTML] }), [null]);
});

test('the name of a displayed data frame comes from the code, if it is certain', () => {
    const [html, other] = [displayed({ 'text/html': HTML }), displayed({ 'image/png': '' })];
    assert.deepEqual(of('display(df)', html), ['df']);
    assert.deepEqual(of('display(a)\ndisplay(b)  # two', html, { ...html }), ['a', 'b']);
    assert.deepEqual(of('for a in frames:\n    display(a)', html), [null]);
    assert.deepEqual(of('display(a)\nplot()', html, other), [null, null], 'one call, two outputs');
});

/** A server with `total` rows, whose answers wait until `answer` is called. */
function served(total) {
    const waiting = [];
    const asked = [];
    const send = (/** @type {any} */ { view }) => {
        asked.push(view);
        return new Promise((done) => waiting.push({ view, done }));
    };
    const answer = async (reply) => {
        const { view, done } = waiting.shift();
        const matching = view.filters.length ? 250 : total;
        const count = Math.max(0, Math.min(view.limit, matching - view.offset));
        const rows = Array.from({ length: count }, (_, i) => [String(view.offset + i)]);
        const table = {
            columns: COLUMNS.slice(0, 1),
            columns_left_out: 0,
            total,
            matching,
            count,
            rows: view.form ? null : rows,
            text: view.form ? rows.map((row) => `${row}\n`).join('') : null,
            summaries: view.summaries ? { columns: [], sampled: null } : null,
        };
        done(reply ?? { kind: 'table', table });
        await new Promise((next) => setImmediate(next));
    };
    const data = new TableData(send, { state: 's1', expression: 'df' }, () => {});
    return { data, asked, waiting, answer };
}
const offsets = (asked) => asked.map(({ offset }) => offset);
const REFUSED = { kind: 'refused', code: 'bad_request', what: 'show', why: 'no number', how: 'give one' };

test('fast scrolling requests the rows where it stops, one page at a time', async () => {
    const { data, asked, waiting, answer } = served(1_000_000);
    data.show(data.order);
    await answer();
    assert.equal(data.table.matching, 1_000_000);
    data.onView(0, 30);
    assert.equal(asked.length, 1, 'the first page came with the table');
    for (let row = 1000; row < 900_000; row += 1000) data.onView(row, row + 30);
    assert.equal(waiting.length, 1);
    data.onView(500_080, 500_110);
    await answer();
    await answer();
    await answer();
    assert.deepEqual(offsets(asked), [0, 1000, 500_000, 500_100]);
    assert.deepEqual(data.rows.at(500_109), ['500109']);
    assert.equal(waiting.length, 0);
});

test('another order drops the rows and their late answers, and a refused one changes nothing', async () => {
    const { data, asked, waiting, answer } = served(10_000);
    data.show(data.order);
    await answer();
    data.onView(5000, 5030);
    /** @type {any[]} */
    const filters = [{ column: 0, is: 'less', value: '250' }];
    const shown = data.show({ sort: { column: 0 }, filters });
    await answer();
    assert.equal(data.rows.at(5000), undefined, 'the answer for the old order came too late');
    await answer();
    assert.equal(await shown, null);
    assert.deepEqual([data.table.matching, data.rows.at(249) === undefined], [250, true]);
    assert.equal(asked.at(-1).summaries, true);
    const refused = data.show({ sort: null, filters: filters.map((one) => ({ ...one, value: 'x' })) });
    await answer(REFUSED);
    assert.deepEqual(await refused, REFUSED);
    assert.deepEqual([data.order.filters, data.table.matching, data.wanted], [filters, 250, data.order]);
    assert.equal(waiting.length, 0);
    data.show({ sort: { column: 0, descending: true }, filters });
    assert.deepEqual(data.wanted.sort, { column: 0, descending: true }, 'before the answer');
    assert.equal(asked.at(-1).summaries, false, 'another order of the same rows has the same summaries');
});

test('rows that cannot be read are not requested again until the user asks', async () => {
    const { data, asked, waiting, answer } = served(10_000);
    data.show(data.order);
    await answer();
    data.onView(5000, 5030);
    await answer(REFUSED);
    data.onView(5001, 5031);
    assert.deepEqual([data.refusal, waiting.length], [REFUSED, 0]);
    data.retry();
    await answer();
    assert.deepEqual([data.refusal, data.rows.at(5030), asked.length], [null, ['5030'], 3]);
});

test('text is read in parts, for CSV with names once, and for copying without', async () => {
    const { data, asked, answer } = served(12_000);
    data.show(data.order);
    await answer();
    const done = [];
    const text = data.text({ form: 'csv', from: 0, count: 12_000 }, (rows) => (done.push(rows), true));
    for (let i = 0; i < 3; i += 1) await answer();
    const read = /** @type {any} */ (await text);
    assert.deepEqual([read.text.join('').split('\n').length, read.rows], [12_001, 12_000]);
    assert.deepEqual(done, [0, 5000, 10_000]);
    assert.deepEqual(
        asked.slice(1).map(({ offset, limit, names }) => [offset, limit, names]),
        [
            [0, 5000, undefined],
            [5000, 5000, undefined],
            [10_000, 2000, undefined],
        ],
    );
    /** @type {any} */
    const part = { form: 'tsv', from: 7, count: 2, columns: [0], names: false };
    const copied = data.text(part, () => true);
    await answer();
    assert.deepEqual(await copied, { kind: 'text', text: ['7\n8\n'], rows: 2 });
    assert.deepEqual([asked.at(-1).names, asked.at(-1).columns], [false, [0]]);
    const long = data.text({ form: 'csv', from: 0, count: 12_000, most: 100 }, () => true);
    await answer();
    assert.equal(
        /** @type {any} */ (await long).rows,
        5000,
        'reading ends after the greatest number of characters',
    );
    const stopped = data.text({ form: 'csv', from: 0, count: 12_000 }, (rows) => rows === 0);
    await answer();
    assert.equal(await stopped, null);
    const failed = data.text(part, () => true);
    await answer(REFUSED);
    assert.deepEqual(await failed, REFUSED);
});

test('a summary of a sample says that there are at least as many values', () => {
    const summary = { distinct: 1200, frequent: [{ text: 'Oslo', count: 3 }], missing: 1 };
    assert.equal(summaryText(summary, false), '1,200 values, Oslo: 3, 1 missing');
    assert.equal(summaryText(summary, true), '1,200+ values, Oslo: 3, 1 missing');
});
