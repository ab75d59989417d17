// Processing of untrusted text takes linear, not quadratic, time. Counts steps instead of time: how
// often each block of a module runs, and how many characters built-in functions scan.

import assert from 'node:assert/strict';
import { Session } from 'node:inspector/promises';
import { test } from 'node:test';
import { withLinks } from '../../web/text/urls.js';
import { canBeSet, withFormulas } from '../../web/text/formulas.js';
import { Terminal, piecesIn } from '../../web/text/terminal.js';
import { taken } from '../../web/text/traceback.js';

const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

/** The number of characters that built-in `indexOf`, `split` and `exec` scan during `work`. */
function countingCharacters(work) {
    let count = 0;
    const own = {
        indexOf: String.prototype.indexOf,
        split: String.prototype.split,
        exec: RegExp.prototype.exec,
    };
    String.prototype.indexOf = function (what, from = 0) {
        const at = own.indexOf.call(this, what, from);
        count += (at < 0 ? this.length : at) - Math.min(from, this.length);
        return at;
    };
    String.prototype.split = function (...by) {
        count += this.length;
        return own.split.apply(this, by);
    };
    RegExp.prototype.exec = function (text) {
        const from = this.global || this.sticky ? this.lastIndex : 0;
        const found = own.exec.call(this, text);
        count += found ? found.index + found[0].length - from : this.sticky ? 1 : String(text).length - from;
        return found;
    };
    try {
        work();
    } finally {
        Object.assign(String.prototype, { indexOf: own.indexOf, split: own.split });
        RegExp.prototype.exec = own.exec;
    }
    return count;
}

/** The number of steps that `work` takes. */
async function steps(work) {
    await session.post('Profiler.takePreciseCoverage');
    const characters = countingCharacters(work);
    const { result } = await session.post('Profiler.takePreciseCoverage');
    const ours = result.filter(({ url }) => url.includes('/web/text/'));
    return (
        characters +
        ours
            .flatMap(({ functions }) => functions)
            .flatMap(({ ranges }) => ranges)
            .reduce((sum, { count }) => sum + count, 0)
    );
}

/**
 * Checks that twice the text takes at most 2.5 times the steps. Quadratic work would take four
 * times.
 */
async function growsWith(work) {
    const [small, large] = [await steps(() => work(2000)), await steps(() => work(4000))];
    assert.ok(small > 100, 'the steps are counted');
    assert.ok(large < 2.5 * small, `${small} steps, and ${large} for twice the text`);
}

const lines = (text) => {
    const terminal = new Terminal();
    terminal.feed(text);
    return terminal.lines;
};
const cases = {
    'links: brackets after an address': (n) => withLinks(`http://a${')'.repeat(n)}`),
    'links: brackets and dots in turn': (n) => withLinks(`http://a${').'.repeat(n)}`),
    'links: many addresses': (n) => withLinks('http://a.b/c '.repeat(n)),
    'formulas: dollars': (n) => withFormulas('$a'.repeat(n)),
    'formulas: dollars that close nothing': (n) => withFormulas('$a '.repeat(n)),
    'formulas: one dollar, then escaped ones': (n) => withFormulas(`$a${'\\$'.repeat(n)}`),
    'formulas: parentheses that are never closed': (n) => withFormulas('\\(a '.repeat(n)),
    'formulas: brackets that are never closed': (n) => withFormulas('\\[a '.repeat(n)),
    'formulas: environments that are never closed': (n) => withFormulas('\\begin{a}'.repeat(n)),
    'formulas: environments of many names': (n) =>
        withFormulas(
            Array.from(
                { length: n },
                (_, i) => `\\begin{${i.toString(2).replaceAll('0', 'a').replaceAll('1', 'b')}}`,
            ).join(''),
        ),
    'formulas: environments that end, but not here': (n) =>
        withFormulas(`${'\\end{a}'.repeat(n)}${'\\begin{a}'.repeat(n)}`),
    'formulas: nesting': (n) => canBeSet('{}'.repeat(n)),
    'terminal: backspaces': (n) => lines(`${'x'.repeat(n)}${'\b'.repeat(4 * n)}`),
    'terminal: backspaces and overwriting': (n) => lines(`${'y'.repeat(n)}${'\b\bx'.repeat(n)}`),
    'terminal: overwritten colours': (n) => lines('\x1b[31mab\x1b[32m\b'.repeat(n)),
    'terminal: an overwritten long line': (n) => lines(`${'z'.repeat(n)}${'\rab'.repeat(n)}`),
    'terminal: a long line erased again and again': (n) => lines(`${'z'.repeat(n)}${'\x1b[1K'.repeat(n)}`),
    'terminal: ends of coloured lines erased': (n) => lines('\x1b[31ma\x1b[0m\x1b[K'.repeat(n)),
    'terminal: two long lines in turn': (n) =>
        lines(`${'\x1b[31ma\x1b[32mb'.repeat(n)}\n${'\x1b[Ax\x1b[B'.repeat(n)}`),
    'terminal: a long line that comes in parts': (n) => {
        const terminal = new Terminal();
        for (let i = 0; i < n; i += 1) terminal.feed('a\bb');
        return terminal.lines;
    },
};
for (const [name, work] of Object.entries(cases)) test(name, () => growsWith(work));

// Steps inside the regular expression engine cannot be counted. A pattern that starts again from
// every position would not end within an hour here.
test('regular expressions do not start again from every position', () => {
    const n = 3_000_000;
    assert.deepEqual(
        withLinks(`http://a${'.'.repeat(n)}b`).map(({ isLink }) => isLink),
        [true],
    );
    assert.equal(
        taken({ ename: 'E', evalue: 'v', traceback: [`${'\n'.repeat(n)}x`, 'E: v'] }).frames.length,
        1,
    );
});

test('overwritten text reads like that of a simple terminal with a table of characters', () => {
    let seed = 7;
    const below = (n) => (seed = (seed * 48271) % 2147483647) % n;
    const word = () =>
        [
            'ab',
            'x',
            'longer',
            '\b',
            '\b\b\b',
            '\r',
            '\n',
            '\x1b[K',
            '\x1b[1K',
            '\x1b[2K',
            '\x1b[A',
            '\x1b[B',
            '\x1b[3C',
            '\x1b[2D',
            '\x1b[5G',
            '\x1b[2J',
        ][below(16)];
    for (let round = 0; round < 300; round += 1) {
        const words = Array.from({ length: 40 }, word);
        const terminal = new Terminal();
        for (const one of words) {
            terminal.feed(one);
            if (below(4) === 0) terminal.lines;
        }
        assert.deepEqual(
            terminal.lines.map((line) =>
                piecesIn(line)
                    .map(({ text }) => text)
                    .join(''),
            ),
            table(words),
            JSON.stringify(words),
        );
    }
});

/** A simple reference implementation for comparison. */
function table(words) {
    let [rows, row, column] = [[[]], 0, 0];
    for (const word of words) {
        const line = rows[row];
        const [, count, final] = word.match(/^\x1b\[(\d*)([A-Z])$/) ?? [];
        const n = Number(count) || 1;
        if (word[0] === '\b') column = Math.max(0, column - word.length);
        else if (word === '\r') column = 0;
        else if (word === '\n') {
            [row, column] = [row + 1, 0];
            rows[row] ??= [];
        } else if (final === 'K' && count === '2') rows[row] = [];
        else if (final === 'K' && count === '1') for (let i = 0; i < column; i += 1) line[i] = ' ';
        else if (final === 'K') line.length = Math.min(line.length, column);
        else if (final === 'A') row = Math.max(0, row - n);
        else if (final === 'B') row = Math.min(rows.length - 1, row + n);
        else if (final === 'C') column += n;
        else if (final === 'D') column = Math.max(0, column - n);
        else if (final === 'G') column = n - 1;
        else if (final === 'J') [rows, row, column] = [[[]], 0, 0];
        else
            for (const letter of word) {
                for (let i = line.length; i < column; i += 1) line[i] = ' ';
                line[column] = letter;
                column += 1;
            }
    }
    return rows.map((line) => line.join(''));
}
