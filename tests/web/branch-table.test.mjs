// The choice of the table of branches in the address.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addressOf, BranchTable, choiceIn, MAX_COLUMNS } from '../../web/branches/branch-table.js';

const NOTHING = { columns: [], order: null, filter: '', baseline: null, picked: [] };

/** A table in a tab that remembers, and what the tab remembers and shows in its address. */
function inTab(kept = new Map()) {
    const tab = { kept, address: '' };
    const host = /** @type {any} */ ({
        recall: (key) => kept.get(key) ?? null,
        remember: (key, value) => kept.set(key, value),
        setAddress: (address) => (tab.address = address),
        requestPaint: () => {},
        paintNow: () => {},
    });
    const page = /** @type {any} */ ({ model: { states: new Map([['a', {}]]) }, address: 'here' });
    return { tab, table: new BranchTable(page, host) };
}

test('an address gives back the choice, whatever it contains', () => {
    const choices = [
        NOTHING,
        { ...NOTHING, columns: ['r2', 'len(df)', 'a & b', "d['=#%?+']", 'ü'], filter: '100 % & more' },
        { ...NOTHING, order: { by: '-loss', isDown: false } },
        { ...NOTHING, order: { by: '#memory', isDown: true }, baseline: 'a', picked: ['x..y', 'b'] },
    ];
    for (const choice of choices) {
        assert.deepEqual(choiceIn(addressOf(choice)), choice);
        assert.match(addressOf(choice), /^[\x21-\x7e]+$/);
    }
});

test('a broken or foreign address makes no table, or a small one', () => {
    for (const other of ['', 'initial', 'compare=a..b', 'branches', 'Branches?'])
        assert.equal(choiceIn(other), null);
    assert.deepEqual(choiceIn('branches?%E0%A4&column=&column=%20&sort=x'), NOTHING);
    const many = Array.from({ length: 500 }, (_, i) => `column=c${i}&column=c${i}`).join('&');
    assert.equal(choiceIn(`branches?${many}`).columns.length, MAX_COLUMNS);
});

test('a tab remembers its choice, and the address follows while the table is open', () => {
    const { tab, table } = inTab();
    table.change({ columns: ['r2'] });
    assert.equal(tab.address, '', 'a closed table has no address');
    table.open();
    assert.equal(tab.address, 'branches?column=r2');
    table.change({ filter: 'x' });
    assert.equal(tab.address, 'branches?column=r2&filter=x');
    table.close();
    assert.equal(tab.address, 'here');
    const again = inTab(tab.kept).table;
    again.open();
    assert.deepEqual(again.choice, { ...NOTHING, columns: ['r2'], filter: 'x' });
});

test('the expressions of a link are not evaluated until the user allows them', () => {
    const { tab, table } = inTab();
    assert.ok(table.openAddress('branches?column=r2&column=f()'));
    assert.deepEqual(['r2', 'größe', 'f()', 'a.b', 'a b', '1'].map(table.mayEvaluate), [
        true,
        true,
        false,
        false,
        false,
        false,
    ]);
    table.allow(['f()']);
    assert.ok(inTab(tab.kept).table.mayEvaluate('f()'), 'a reload keeps what was allowed');
    assert.ok(!inTab().table.mayEvaluate('f()'), 'another tab asks again');
});

test('a state is added to the table and removed; one that is gone does not count', () => {
    const { table } = inTab();
    assert.equal(table.toggle('a'), true);
    table.change({ picked: [...table.picked, 'gone'] });
    assert.deepEqual(table.picked, ['a']);
    assert.equal(table.toggle('a'), false);
    assert.deepEqual(table.picked, []);
});
