// A CSV file as a table, without a browser: its encoding, its records, and the answers to the
// command `table`, which the server gives for data frames.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decoded, recordsIn, separatorOf } from '../../web/table/csv-records.js';
import { CsvTable } from '../../web/table/csv-table.js';
import { TableData } from '../../web/table/table-data.js';

const bytesOf = (text) => new TextEncoder().encode(text);
/** The answer to a view. @returns {any} */
const ask = (table, view = {}) => {
    const answer = table.answer({ expression: '', limit: 100, ...view });
    return answer.kind === 'table' ? answer.table : answer;
};
/** The first column of the rows that a view shows. */
const firsts = (table, view) => ask(table, view).rows.map(([first]) => first);
const by = (column, descending = false) => ({ sort: { column, descending } });
const where = (column, is, value) => ({ filters: [{ column, is, value }] });

test('a file is UTF-8, else Windows-1252, and bytes that no text has are refused', () => {
    assert.deepEqual(decoded(bytesOf('\uFEFFä,€')), { text: 'ä,€', encoding: 'utf-8' });
    assert.equal(decoded(bytesOf('a,€').slice(0, -1))?.text, 'a,', 'the last character is cut');
    const windows = Uint8Array.of(0x4d, 0xfc, 0x6c, 0x6c);
    assert.deepEqual(decoded(windows), { text: 'Müll', encoding: 'windows-1252' });
    assert.equal(decoded(Uint8Array.of(0x50, 0x4b, 0)), null);
    assert.equal(decoded(Uint8Array.of(0x50, 0xff, 0x03)), null);
});

test('records have quoted fields, and no text is refused', () => {
    const read = (text, options) => recordsIn(text, ',', options);
    assert.deepEqual(read('a,b\n1,2'), [
        ['a', 'b'],
        ['1', '2'],
    ]);
    assert.deepEqual(read('"a ""b""",",\n\n"\n\n,\n"",\n'), [
        ['a "b"', ',\n\n'],
        ['', ''],
        ['', ''],
    ]);
    assert.deepEqual(read('""\n\n'), [['']], 'an empty value is no empty line');
    assert.deepEqual(read('5" x,"ab"c,"d"e"\n'), [['5" x', 'abc', 'de"']], 'quotes within a field');
    assert.deepEqual(read('a\n"b,c\nd'), [['a'], ['"b', 'c'], ['d']], 'a quote that is never closed');
    assert.deepEqual(read(''), []);
    assert.deepEqual(read('a\nb\nc', { most: 2 }), [['a'], ['b']]);
});

test('of a text that is cut, the last record is left out', () => {
    for (const rest of ['1,2', '1,"2', '"1\n2', '"1"', ''])
        assert.deepEqual(recordsIn(`a,b\n${rest}`, ',', { isCut: true }), [['a', 'b']], rest);
    assert.deepEqual(recordsIn('a\n"b\nc"\n', ',', { isCut: true }), [['a'], ['b\nc']]);
});

test('the separator is that with which the first records are alike', () => {
    assert.equal(separatorOf('a,b\n1,2\n', false), ',');
    assert.equal(separatorOf('a;b;c\n1,5;2,5;x\n1,0;3,5;y\n', false), ';');
    assert.equal(separatorOf('a\tb\n1,5;\t2\n', false), '\t');
    assert.equal(separatorOf('name,note\na,"x;y;z"\nb,p;q\n', false), ',');
    assert.equal(separatorOf('one\n2;3\n', false), ',');
    assert.equal(separatorOf('', false), ',');
});

test('columns are numbers or texts, and have the names of the first record', () => {
    const table = ask(new CsvTable('n,,n,t\r\n1,+2.5e3,,x\r\n\r\n .5 ,-1\r3,4,5,0x10,more\r\n'));
    assert.deepEqual(
        table.columns.map(({ name, kind, is_index }) => [name, kind, is_index]),
        [
            ['n', 'number', false],
            ['Column 2', 'number', false],
            ['n', 'number', false],
            ['t', 'text', false],
            ['Column 5', 'text', false],
        ],
    );
    assert.deepEqual(table.rows, [
        ['1', '+2.5e3', null, 'x', null],
        [' .5 ', '-1', null, null, null],
        ['3', '4', '5', '0x10', 'more'],
    ]);
    assert.deepEqual([table.total, table.matching, table.count, table.text], [3, 3, 3, null]);
    assert.deepEqual(ask(new CsvTable('')).columns, []);
    assert.deepEqual(ask(new CsvTable('a,b')).rows, []);
    const wide = ask(new CsvTable(`${','.repeat(999)}\n`));
    assert.deepEqual([wide.columns.length, wide.columns_left_out], [200, 800]);
    const ragged = ask(new CsvTable(`a\n${'1\n'.repeat(1_000_000)}${','.repeat(99)}`));
    assert.deepEqual([ragged.total, ragged.columns.length, ragged.columns_left_out], [1_000_001, 9, 91]);
    assert.equal(ask(new CsvTable(`a\n${'x'.repeat(400)}\n`)).rows[0][0].length, 301);
});

test('rows are sorted as by the server: numbers as numbers, missing last, equal ones as they were', () => {
    const table = new CsvTable('i,n,t\na,10,b\nb,,\nc,9,B\nd,10,b\ne,-1,a\n');
    assert.deepEqual(firsts(table, by(1)), ['e', 'c', 'a', 'd', 'b']);
    assert.deepEqual(firsts(table, by(1, true)), ['a', 'd', 'c', 'e', 'b']);
    assert.deepEqual(firsts(table, by(2)), ['c', 'e', 'a', 'd', 'b']);
    assert.deepEqual(firsts(table, by(2, true)), ['a', 'd', 'e', 'c', 'b']);
    assert.deepEqual(firsts(table, { ...by(1), offset: 1, limit: 2 }), ['c', 'a']);
});

test('filters compare as those of the server do', () => {
    const table = new CsvTable('i,n,t\na,10,Über\nb,,\nc,9,über all\nd,1e1,x\n');
    const found = (column, is, value) => firsts(table, where(column, is, value)).join('');
    assert.deepEqual(
        ['equal', 'unequal', 'less', 'at_most', 'greater', 'at_least'].map((is) => found(1, is, '1_0')),
        ['ad', 'bc', 'c', 'acd', '', 'ad'],
    );
    assert.equal(found(1, 'contains', '1'), 'ad');
    assert.equal(found(2, 'contains', 'ÜBER'), 'ac');
    assert.equal(found(2, 'equal', 'x'), 'd');
    assert.equal(found(2, 'unequal', 'x'), 'abc');
    assert.equal(found(2, 'less', 'y'), 'd');
    assert.deepEqual([found(2, 'missing'), found(1, 'present')], ['b', 'acd']);
    const both = { filters: [...where(1, 'at_least', '10').filters, ...where(2, 'contains', 'x').filters] };
    assert.deepEqual(firsts(table, { ...both, ...by(1) }), ['d']);
    const refused = ask(table, where(1, 'less', 'many'));
    assert.deepEqual([refused.kind, refused.code], ['refused', 'bad_request']);
    assert.match(refused.why, /the column n is compared with “many”, which is not a number/);
});

test('text has the names of the file, and quotes what needs it', () => {
    const table = new CsvTable('a,\n"x ""y""","1\n2"\n"p,q",\n');
    const text = (view) => ask(table, { form: 'csv', ...view }).text;
    assert.equal(text({}), 'a,\n"x ""y""","1\n2"\n"p,q",\n');
    assert.equal(text({ names: false, columns: [1] }), '"1\n2"\n""\n');
    assert.equal(text({ offset: 1 }), '"p,q",\n');
    assert.equal(text({ form: 'tsv', names: false, columns: [0] }), '"x ""y"""\np,q\n');
});

test('summaries are a histogram, or the most frequent texts', () => {
    const lines = Array.from({ length: 100 }, (_, i) => `${i},${i % 3 ? 'odd' : 'third'},`);
    const table = new CsvTable(`n,t,e\n,,\n${lines.join('\n')}\n`);
    const { summaries } = ask(table, { summaries: true });
    assert.deepEqual(summaries, {
        columns: [
            { bars: Array(20).fill(5), low: '0', high: '99', missing: 1 },
            {
                distinct: 2,
                frequent: [
                    { text: 'odd', count: 66 },
                    { text: 'third', count: 34 },
                ],
                missing: 1,
            },
            { distinct: 0, frequent: [], missing: 101 },
        ],
        sampled: null,
    });
    const many = new CsvTable(`n\n${'7\n'.repeat(30_000)}`);
    const one = ask(many, { summaries: true }).summaries;
    assert.equal(one.sampled, 15_000);
    assert.equal(one.columns[0].bars[0], 15_000);
});

test('the grid reads a file as it reads a data frame', async () => {
    const table = new CsvTable(`n\n${Array.from({ length: 12_000 }, (_, i) => `${i}\n`).join('')}`);
    const send = async (command) => table.answer(command.view);
    const data = new TableData(send, { state: '', expression: '' }, () => {});
    assert.equal(await data.show({ sort: { column: 0, descending: true }, filters: [] }), null);
    assert.deepEqual([data.table?.matching, data.rows.at(0)], [12_000, ['11999']]);
    const read = await data.text({ form: 'csv', from: 0, count: 12_000, names: true }, () => true);
    assert.equal(read?.kind === 'text' && read.text.join('').split('\n').length, 12_002);
});
