// The field of a parameter's values in the dialog of a sweep.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quoted, readValues, VALUES_WORDS as SAY } from '../../web/sweep/values.js';

const values = (text, options) => readValues(text, options).values;
const problem = (text, options) => readValues(text, options).problem;

test('a list has literals and names', () => {
    /** @type {[string, string[]][]} */
    const cases = [
        ['0.01, 0.1, 1', ['0.01', '0.1', '1']],
        ['0.5', ['0.5']],
        [' 1 , 2 ,', ['1', '2']],
        ['True, False', ['True', 'False']],
        ['None, 3', ['None', '3']],
        ['(64,), (64, 32)', ['(64,)', '(64, 32)']],
        ['[1, 2], {"a": (1, 2)}', ['[1, 2]', '{"a": (1, 2)}']],
        ['\'a, b\', "c"', ["'a, b'", '"c"']],
        ["'it\\'s', 'b'", ["'it\\'s'", "'b'"]],
        ['"""a"b""", 1', ['"""a"b"""', '1']],
        ["r'\\d', b'x'", ["r'\\d'", "b'x'"]],
        ['small, large', ['small', 'large']],
        ['df.x, -y', ['df.x', '-y']],
        ['-1, +2, 1e-3, .5, 1_000', ['-1', '+2', '1e-3', '.5', '1_000']],
        ['0x1F, 1+2j, -1j', ['0x1F', '1+2j', '-1j']],
        ['"a" \'b\', {1, -2}, [], {}', ['"a" \'b\'', '{1, -2}', '[]', '{}']],
        ['np.inf, [small, (1, None)]', ['np.inf', '[small, (1, None)]']],
    ];
    for (const [text, wanted] of cases) assert.deepEqual(values(text), wanted, text);
});

test('a bare word is a string where the parameter is a string', () => {
    assert.deepEqual(values('adam, sgd', { areWords: true }), ["'adam'", "'sgd'"]);
    assert.deepEqual(values("'adam', None, True", { areWords: true }), ["'adam'", 'None', 'True']);
    assert.deepEqual(values('größe', { areWords: true }), ["'größe'"]);
    assert.equal(quoted("it's \\"), "'it\\'s \\\\'");
});

test('an expression is no value, and a range is named in its place', () => {
    /** @type {[string, string][]} */
    const cases = [
        ['range(1, 8)', SAY.instead('range(1, 8)', '1..7')],
        ['range(8)', SAY.instead('range(8)', '0..7')],
        ['range(0, 10, 3)', SAY.instead('range(0, 10, 3)', '0..9 step 3')],
        ['range(4, 1)', SAY.noValue],
        ['range(n)', SAY.noValue],
        ['1-10', SAY.instead('1-10', '1..10')],
        ['10-1', SAY.noValue],
        ['1..', SAY.noValue],
        ['..3', SAY.noValue],
        ['np.logspace(0, 1, 3)', SAY.instead('np.logspace(0, 1, 3)', '1..10 log 3')],
        ['np.linspace(0, 0.5, 3)', SAY.instead('np.linspace(0, 0.5, 3)', '0..0.5 in 3')],
        ['1, [x for x in y]', SAY.noValue],
        ['1 + 2, 3', SAY.noValue],
        ['not a', SAY.noValue],
        ['lambda x: x', SAY.noValue],
        ['a[0]', SAY.noValue],
        ['f"{x}"', SAY.noValue],
        ['2 +, 3', SAY.noValue],
        ['(1, range(3))', SAY.noValue],
    ];
    for (const [text, wanted] of cases) assert.equal(problem(text), wanted, text);
    assert.match(SAY.instead('range(1, 8)', '1..7'), /write 1\.\.7 for range\(1, 8\)\.$/);
    assert.equal(problem('adam, l-bfgs', { areWords: true }), SAY.quote('l-bfgs'));
    assert.deepEqual(values("'l-bfgs'", { areWords: true }), ["'l-bfgs'"]);
});

test('a range of integers has each integer, or those at its steps', () => {
    assert.deepEqual(values('1..4'), ['1', '2', '3', '4']);
    assert.deepEqual(values('3..1'), ['3', '2', '1']);
    assert.deepEqual(values('-1..1'), ['-1', '0', '1']);
    assert.deepEqual(values('2 .. 2'), ['2']);
    assert.deepEqual(values('0..10 step 4'), ['0', '4', '8']);
    assert.deepEqual(values('10..0 step -5'), ['10', '5', '0']);
    assert.deepEqual(values('1..2 step 0.5'), ['1.0', '1.5', '2.0']);
    assert.deepEqual(values('1_000..1_002'), ['1000', '1001', '1002']);
});

test('a range of numbers has a step or a count, without the noise of binary fractions', () => {
    assert.deepEqual(values('0..1 step 0.25'), ['0.0', '0.25', '0.5', '0.75', '1.0']);
    assert.deepEqual(values('0..0.3 step 0.1'), ['0.0', '0.1', '0.2', '0.3']);
    assert.deepEqual(values('0..1 in 3'), ['0.0', '0.5', '1.0']);
    assert.deepEqual(values('0..10 in 3'), ['0', '5', '10']);
    assert.deepEqual(values('0..10 in 4'), ['0.0', '3.33333333333', '6.66666666667', '10.0']);
    assert.deepEqual(values('0.01..1 log 5'), ['0.01', '0.0316227766017', '0.1', '0.316227766017', '1.0']);
    assert.deepEqual(values('1e-4..1e-2 LOG 3'), ['0.0001', '0.001', '0.01']);
    assert.deepEqual(values('1..1000 log 4'), ['1', '10', '100', '1000']);
    assert.deepEqual(values('0.5..-0.5 step -0.5'), ['0.5', '0.0', '-0.5']);
    assert.deepEqual(values('-8..-2 log 3'), ['-8', '-4', '-2']);
    assert.deepEqual(values('1e-20..2e-20 in 2'), ['1e-20', '2e-20']);
});

test('a list may have ranges', () => {
    assert.deepEqual(values('1..3, 10, 20..40 step 20'), ['1', '2', '3', '10', '20', '40']);
    assert.deepEqual(values('0, 0.1..0.2 in 2'), ['0', '0.1', '0.2']);
});

test('a sampler draws from a range that has neither count nor step', () => {
    const { span } = readValues('0.01..1 log', { mayBeOpen: true });
    assert.deepEqual(span, { from: 0.01, to: 1, isInt: false, isLog: true, count: null, step: null });
    assert.equal(readValues('1..8', { mayBeOpen: true }).span.isInt, true);
    assert.deepEqual(values('1, 2', { mayBeOpen: true }), ['1', '2']);
    assert.equal(readValues('0..1', { mayBeOpen: true }).problem, null);
});

test('what cannot be read is refused with one sentence', () => {
    for (const [text, wanted] of [
        ['', SAY.none],
        ['  ,', SAY.none],
        ['1,,2', SAY.gap],
        [', 1', SAY.gap],
        ['(64, 32', SAY.unclosed('(')],
        ['[1', SAY.unclosed('[')],
        ["'a, b", SAY.unclosed("'")],
        ['"""a"', SAY.unclosed('"')],
        ['64)', SAY.unopened(')')],
        ['(1]', SAY.unopened(']')],
        ['1 2', SAY.twoInOne('1 2')],
        ['adam sgd', SAY.twoInOne('adam sgd')],
        ['0.1..1', SAY.needsStep],
        ['0..1 log 5', SAY.log],
        ['-1..1 log 5', SAY.log],
        ['1..10 log', SAY.needsCount],
        ['1..10 log 1', SAY.count('1')],
        ['1..10 log x', SAY.count('x')],
        ['1..10 log 2.5', SAY.count('2.5')],
        ['1..10 in', SAY.count('')],
        ['1..10 step', SAY.step('')],
        ['1..10 step 0', SAY.step('0')],
        ['1..10 step x', SAY.step('x')],
        ['1..10 step -1', SAY.away],
        ['1..100000', SAY.many],
        ['0..1 step 0.00001', SAY.many],
        ['0..1 in 99999', SAY.many],
        ['1, 1', SAY.twice('1')],
        ['1..3, 2', SAY.twice('2')],
    ])
        assert.equal(problem(text), wanted, text);
});

test('no text makes the reader fail', () => {
    const signs = '0123456789.,()[]{}\'"\\ eE+-_ab';
    let seed = 7;
    const next = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    for (let n = 0; n < 20_000; n += 1) {
        const text = Array.from({ length: next(12) }, () => signs[next(signs.length)]).join('');
        const read = readValues(text, { areWords: n % 2 === 0, mayBeOpen: n % 3 === 0 });
        assert.ok(read.values === null ? read.problem : read.values.length > 0, text);
    }
});
