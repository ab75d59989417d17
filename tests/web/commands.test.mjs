// Key bindings: which command a key press runs, which entries the palette offers, and how keys are
// displayed.

import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { test } from 'node:test';
import { GRAPH_KEYS } from '../../web/graph/graph-keys-words.js';
import {
    addCommands,
    allCommands,
    choosable,
    KeySequence,
    keysOf,
    keyNamesOf,
    shownKey,
} from '../../web/commands/commands.js';
import { Selection } from '../../web/cell/selection.js';
import { fit, rank } from '../../web/text/fuzzy.js';
import { EDITOR_WORDS } from '../../web/editor/editor-words.js';

const press = (key, more = {}) => ({
    key,
    code: '',
    ctrlKey: false,
    metaKey: false,
    altKey: false,
    shiftKey: false,
    ...more,
});
const at = { view: null };
const act = () => {};

addCommands([
    { id: 'above', title: 'Insert above', key: 'a', mode: 'cell', act },
    { id: 'remove', title: 'Delete', key: 'd d', mode: 'cell', act },
    { id: 'down', title: 'Down', key: ['ArrowDown', 'j'], mode: 'cell', act },
    { id: 'never', title: 'Never now', key: 'q', mode: 'cell', when: () => false, act },
    { id: 'find', title: 'Find in all cells', key: 'Mod-f', act },
    { id: 'quiet', title: 'Only a key', key: 'Mod-x', isQuiet: true, act },
]);

const ids = (entries) => entries.map(({ id }) => id);

test('a key runs the command of the focused mode, if the command applies now', () => {
    const keys = new KeySequence();
    assert.deepEqual(ids(keys.press('cell', ['a'], 0, at)), ['above']);
    assert.deepEqual(ids(keys.press('editor', ['a'], 0, at)), []);
    assert.deepEqual(ids(keys.press('anywhere', ['Mod-f'], 0, at)), ['find']);
    assert.deepEqual(ids(keys.press('cell', ['q'], 0, at)), []);
    assert.deepEqual(ids(keys.press('cell', ['j'], 0, at)), ['down']);
});

test('two presses of a key are one command if they follow quickly, in one mode, with no key between', () => {
    const keys = new KeySequence();
    assert.deepEqual(ids(keys.press('cell', ['d'], 0, at)), []);
    assert.equal(keys.isWaiting, true);
    assert.deepEqual(ids(keys.press('cell', ['d'], 300, at)), ['remove']);
    assert.equal(keys.isWaiting, false, 'a third press begins a new pair');
    assert.deepEqual(ids(keys.press('cell', ['d'], 400, at)), []);
    assert.deepEqual(ids(keys.press('cell', ['d'], 2000, at)), [], 'too late');
    assert.deepEqual(ids(keys.press('cell', ['a'], 2100, at)), ['above']);
    assert.deepEqual(ids(keys.press('cell', ['d'], 2200, at)), [], 'another key was pressed between them');
    assert.deepEqual(ids(keys.press('editor', ['d'], 2300, at)), [], 'in an editor the key is a letter');
});

test('key presses are named by the printed character and by the position of the key', () => {
    assert.deepEqual(keyNamesOf(press('V', { shiftKey: true, code: 'KeyV' })), ['Shift-v']);
    assert.deepEqual(keyNamesOf(press('P', { shiftKey: true, ctrlKey: true })), ['Mod-Shift-p']);
    assert.deepEqual(keyNamesOf(press('f', { metaKey: true })), ['Mod-f']);
    assert.deepEqual(keyNamesOf(press('?', { shiftKey: true })), ['?']);
    assert.deepEqual(
        keyNamesOf(press('/', { shiftKey: true, ctrlKey: true, code: 'Digit7' })),
        ['Mod-/'],
        'a keyboard on which / needs Shift',
    );
    assert.ok(
        keyNamesOf(press('_', { shiftKey: true, ctrlKey: true, code: 'Minus' })).includes('Mod-Shift-Minus'),
    );
    assert.ok(keyNamesOf(press('ф', { code: 'KeyA' })).includes('a'), 'letters of another alphabet');
    assert.deepEqual(keyNamesOf(press(' ', { shiftKey: true })), ['Shift-Space']);
});

test('shortcuts are displayed in the notation of the system', () => {
    assert.equal(shownKey('Mod-Shift-ArrowUp', false), 'Ctrl-Shift-↑');
    assert.equal(shownKey('Mod-Shift-ArrowUp', true), '⌘⇧↑');
    assert.equal(shownKey('d d', false), 'D D');
    assert.equal(shownKey('Mod--', false), 'Ctrl--');
});

test('the shortcut sheet lists all keys of the graph', async () => {
    const source = await readFile(new URL('../../web/graph/graph-keys.js', import.meta.url), 'utf8');
    const named = [...source.matchAll(/^ +(?:'([^']+)'|(\w+)): (?:\(\) =>|sibling\(|child,|\(\) =>)/gm)].map(
        ([, quoted, plain]) => ((quoted ?? plain) === ' ' ? 'Space' : (quoted ?? plain)),
    );
    const walks = ['ArrowLeft'];
    assert.ok(named.length > 20);
    assert.deepEqual(
        [...new Set([...named, ...walks])].toSorted(),
        GRAPH_KEYS.flatMap(([keys]) => keys).toSorted(),
    );
});

test('the palette offers the commands that apply, recently used ones first, without those that are only keys', () => {
    assert.deepEqual(ids(choosable(at, [])), ['above', 'remove', 'down', 'find']);
    assert.deepEqual(ids(choosable(at, ['find', 'down'])), ['find', 'down', 'above', 'remove']);
    addCommands([{ id: 'find', title: 'Search', key: 'Mod-f', act }]);
    assert.equal(
        allCommands().filter(({ id }) => id === 'find').length,
        1,
        'a command added again replaces the earlier one',
    );
    assert.deepEqual(keysOf(allCommands().find(({ id }) => id === 'find')), ['Mod-f']);
});

test('a few letters find a title; beginnings of words and whole words rank first', () => {
    const best = (typed, titles) =>
        titles.filter((title) => fit(typed, title) !== null).sort((a, b) => fit(typed, b) - fit(typed, a));
    assert.deepEqual(best('ica', ['Insert a cell above', 'Indicate', 'Copy']), [
        'Indicate',
        'Insert a cell above',
    ]);
    assert.deepEqual(best('run', ['Turn around', 'Run all drafts', 'Undo']), ['Run all drafts']);
    assert.deepEqual(best('runal', ['Run all drafts', 'Return a line']), ['Run all drafts']);
    assert.equal(best('rad', ['Replace a word', 'Run all drafts'])[0], 'Run all drafts');
    assert.equal(fit('xyz', 'Run all drafts'), null);
    assert.deepEqual(best('delete', ['Deleted states…', 'Delete this state']), [
        'Delete this state',
        'Deleted states…',
    ]);
});

test('letters scattered over a title do not find it; synonyms of the command do', () => {
    const titles = {
        'Switch theme: light, dark, system': '',
        'Download as HTML': EDITOR_WORDS.also.download,
        'Stop the running cell; press again to kill it': EDITOR_WORDS.also.stop,
        Restart: EDITOR_WORDS.also.restart,
        'Undo deletion': EDITOR_WORDS.also.undo,
    };
    const best = (typed) =>
        Object.keys(titles)
            .filter((title) => rank(typed, title, titles[title]) !== null)
            .sort((a, b) => rank(typed, b, titles[b]) - rank(typed, a, titles[a]));
    assert.deepEqual(best('html'), ['Download as HTML']);
    assert.deepEqual(best('interrupt'), ['Stop the running cell; press again to kill it']);
    assert.deepEqual(best('start over'), ['Restart']);
    assert.deepEqual(best('export'), ['Download as HTML']);
    assert.deepEqual(best('undo'), ['Undo deletion']);
    assert.deepEqual(best('kill cell'), ['Stop the running cell; press again to kill it'], 'in any order');
    assert.deepEqual(best('sea'), []);
});

test('the palette lists a menu entry once', () => {
    const menus = [
        { id: 'menu.label', title: 'Label…', act },
        { id: 'menu.above', title: 'Insert above', act },
        { id: 'menu.again', title: 'Label…', act },
    ];
    assert.deepEqual(
        choosable(at, [], menus)
            .filter(({ title }) => /Label|above/.test(title))
            .map(({ id }) => id),
        ['above', 'menu.label'],
    );
});

test('a selection extends from its first cell, and shrinks to one cell when the focus moves elsewhere', () => {
    const all = ['a', 'b', 'c', 'd'];
    const selection = new Selection();
    selection.only('b');
    selection.extend('b', 'c');
    selection.extend('c', 'd');
    assert.deepEqual(selection.keys(all), ['b', 'c', 'd']);
    selection.extend('d', 'a');
    assert.deepEqual(selection.keys(all), ['a', 'b']);
    selection.moved('a');
    assert.deepEqual(selection.keys(all), ['a', 'b'], 'the focus moved to the end of the selection');
    selection.moved('d');
    assert.deepEqual(selection.keys(all), ['d']);
    assert.deepEqual(selection.keys(['x']), []);
});
