import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Terminal, piecesIn } from '../../web/text/terminal.js';

/** Lines as text, with styled pieces in brackets. */
function show(...texts) {
    const terminal = new Terminal();
    for (const text of texts) terminal.feed(text);
    const piece = ({ text, style }) => (style ? `[${text}]` : text);
    return terminal.lines.map((line) => piecesIn(line).map(piece).join('')).join('\n');
}

test('plain lines are unchanged', () => assert.equal(show('a\nb\n'), 'a\nb\n'));
test('\\r\\n is a line end', () => assert.equal(show('a\r\nb'), 'a\nb'));
test('a progress bar overwrites its line', () => assert.equal(show('\r10 %', '\r 100 %'), ' 100 %'));
test('text beyond the overwriting text stays', () => assert.equal(show('abcdef\rXY'), 'XYcdef'));
test('a backspace moves the cursor back', () => assert.equal(show('ab\b\bX'), 'Xb'));
test('an escape erases to the end of the line', () => assert.equal(show('abcdef\rXY\x1b[K'), 'XY'));
test('nested progress bars overwrite their own lines', () =>
    assert.equal(show('one\ntwo\x1b[A\rONE\n\rTWO'), 'ONE\nTWO'));
test('coloured text is styled', () => assert.equal(show('a\x1b[31mred\x1b[0mb'), 'a[red]b'));
test('an escape split between two messages is recognised', () =>
    assert.equal(show('a\x1b[3', '1mred\x1b', '[0mb'), 'a[red]b'));
test('titles and links of terminals are dropped', () =>
    assert.equal(show('\x1b]0;title\x07a\x1b]8;;http://x\x1b\\b'), 'ab'));
test('NUL and BEL are dropped', () => assert.equal(show('a\x00b\x07c'), 'abc'));
test('an incomplete escape does not hold back the text', () => {
    assert.match(show(`\x1b[${'9'.repeat(300)}`, 'after'), /after/);
});

test('colour codes become styles', () => {
    const style = (codes) => {
        const terminal = new Terminal();
        terminal.feed(`\x1b[${codes}mx`);
        return piecesIn(terminal.lines[0])[0].style;
    };
    assert.equal(style('1;31').fg, 1);
    assert.equal(style('1;31').bold, true);
    assert.equal(style('94').fg, 12);
    assert.equal(style('38;5;196').fg, 'rgb(255 0 0)');
    assert.equal(style('48;2;1;2;3').bg, 'rgb(1 2 3)');
    assert.equal(style('0'), null);
});

test('feed returns the first line that changed', () => {
    const terminal = new Terminal();
    assert.equal(terminal.feed('a\nb\nc'), 0);
    assert.equal(terminal.feed('d\n'), 2);
    assert.equal(terminal.feed('\x1b[2Ax'), 1);
});

test('100,000 lines are processed quickly, and each is only its text', () => {
    const terminal = new Terminal();
    for (let i = 0; i < 1000; i += 1) terminal.feed(`line ${i}\n`.repeat(100));
    assert.equal(terminal.lines.length, 100_001);
    assert.ok(terminal.lines.every((line) => typeof line === 'string'));
});
