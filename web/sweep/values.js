// @ts-check
// Reads what the user types as the values of a parameter: a list of Python literals and names, or a
// range of numbers. Pure.
//
//     0.01, 0.1, 1        numbers, strings, True, None, tuples, names of variables
//     1..10               integers; `step 2` leaves some out
//     0..1 step 0.25      both ends included
//     0.01..1 log 5       five numbers with equal ratios
//     0..1 in 5           five numbers with equal differences
//
// Anything else, such as a call or a sum, is a problem: the server refuses it, too.
//
// A word in quotes is a string. A bare word is a string, too, if the parameter's present value is a
// string; else it is the name of a variable. The server checks the values with Python.

/**
 * @typedef {{from: number, to: number, isInt: boolean, isLog: boolean, count: number | null,
 *   step: number | null}} Span A range; `count`: of how many numbers, if the user has said it
 */
/**
 * @typedef {{values: string[], span: Span | null, problem: null}
 *   | {values: null, span: null, problem: string}} Read `values`: as Python source
 */

/** The most values of one range, so that a typing mistake does not freeze the page. */
export const MOST_VALUES = 10_000;

const NUMBER = String.raw`[+-]?(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?`;
const RANGE = new RegExp(
    String.raw`^(${NUMBER})\s*\.\.\s*(${NUMBER})(?:\s+(step|log|in)(?:\s+(\S+))?)?$`,
    'i',
);
const PLAIN = new RegExp(`^${NUMBER}$`, 'i');
const CLOSING = new Map([
    ['(', ')'],
    ['[', ']'],
    ['{', '}'],
]);
const WORD = /^[\p{L}_][\p{L}\p{N}_]*$/u;
const CONSTANTS = new Set(['True', 'False', 'None']);

export const VALUES_WORDS = Object.freeze({
    none: 'Type at least one value.',
    gap: 'There is a comma without a value before it.',
    unclosed: (/** @type {string} */ sign) => `The ${sign} is not closed.`,
    unopened: (/** @type {string} */ sign) => `The ${sign} closes nothing.`,
    twoInOne: (/** @type {string} */ text) => `Separate values by commas: ${text}`,
    log: 'A logarithmic range needs two numbers of the same sign, without 0.',
    count: (/** @type {string} */ text) => `“${text}” is not a number of values; type 2 or more.`,
    step: (/** @type {string} */ text) => `“${text}” is not a step; type a number other than 0.`,
    away: 'The step leads away from the end of the range.',
    needsStep: 'Say how many numbers the range has (in 5, log 5), or its step (step 0.25).',
    needsCount: 'Say how many numbers the range has, such as log 5.',
    many: `A range has at most ${MOST_VALUES} values.`,
    twice: (/** @type {string} */ value) => `The value ${value} is there twice.`,
    noValue: 'Only values and names: write 1..7 for a range.',
    instead: (/** @type {string} */ text, /** @type {string} */ range) =>
        `Only values and names: write ${range} for ${text}.`,
    quote: (/** @type {string} */ text) => `Only values and names: write ${quoted(text)} for a text.`,
});

/** @param {string} problem @returns {Read} */
const no = (problem) => ({ values: null, span: null, problem });

/**
 * Reads the values of a parameter.
 * @param {string} text
 * @param {{areWords?: boolean, mayBeOpen?: boolean}} [options] `areWords`: whether a bare word is a
 *   string; `mayBeOpen`: whether a range needs no count or step, because a sampler draws from it
 * @returns {Read}
 */
export function readValues(text, { areWords = false, mayBeOpen = false } = {}) {
    const trimmed = text.trim().replace(/,$/, '').trim();
    if (!trimmed) return no(VALUES_WORDS.none);
    const range = trimmed.match(RANGE);
    if (range) return readRange(range.slice(1), mayBeOpen);
    const parts = split(trimmed);
    if (typeof parts === 'string') return no(parts);
    /** @type {string[]} */
    const values = [];
    for (const part of parts) {
        if (!part) return no(VALUES_WORDS.gap);
        const inner = part.match(RANGE);
        if (inner) {
            const read = readRange(inner.slice(1), false);
            if (!read.values) return read;
            values.push(...read.values);
            continue;
        }
        if (isTwo(part)) return no(VALUES_WORDS.twoInOne(part));
        if (!isValue(part)) return no(insteadOf(part, areWords));
        values.push(areWords && WORD.test(part) && !CONSTANTS.has(part) ? quoted(part) : part);
    }
    const twice = values.find((value, at) => values.indexOf(value) < at);
    if (twice !== undefined) return no(VALUES_WORDS.twice(twice));
    return { values, span: null, problem: null };
}

/** A string as Python source. @param {string} text */
export const quoted = (text) => `'${text.replaceAll('\\', '\\\\').replaceAll("'", "\\'")}'`;

/** Whether two numbers or words stand beside each other without a comma. @param {string} part */
function isTwo(part) {
    const [first = '', second = '', ...more] = part.split(/\s+/);
    if (!second || more.length) return false;
    const isValue = (/** @type {string} */ one) => PLAIN.test(one) || WORD.test(one);
    return isValue(first) && isValue(second) && !/^(not|await|lambda)$/.test(first);
}

const SPACE = /\s*/y;
/** A pattern for one character of a string: an escape, or no backslash and none of `but`. */
const inner = (/** @type {string} */ but) => String.raw`(?:[^\\${but}]|\\[\s\S])*`;
const STRING = new RegExp(
    `[bru]{0,2}(?:'''${inner('')}?'''|"""${inner('')}?"""|'${inner("'")}'|"${inner('"')}")`,
    'iy',
);
const HEX = /0(?:x[\da-f_]+|o[0-7_]+|b[01_]+)(?!\w)/iy;
const AMOUNT = /(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?j?(?![\w.])/iy;
const IMAGINARY = /\s*[+-]\s*(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?j(?![\w.])/iy;
const NAME = /[\p{L}_][\p{L}\p{N}_]*(?:\.[\p{L}_][\p{L}\p{N}_]*)*/uy;
const KEYWORDS = new Set(
    'and async await class def del for from if import in is lambda not or pass return with yield'.split(' '),
);

/** Whether a text is one literal or one name, which may be dotted. @param {string} text */
function isValue(text) {
    let at = 0;
    const take = (/** @type {RegExp} */ pattern) => {
        pattern.lastIndex = at;
        const found = pattern.exec(text)?.[0] ?? '';
        at += found.length;
        return found;
    };
    /** @returns {boolean} */
    const value = () => {
        take(SPACE);
        const sign = take(/[+-]/y);
        if (sign) take(SPACE);
        if (take(HEX)) return true;
        if (take(AMOUNT)) {
            take(IMAGINARY);
            return true;
        }
        const first = sign ? '' : take(STRING);
        if (first) {
            // Python joins strings that stand beside each other.
            for (let more = first; more; more = take(STRING)) take(SPACE);
            return true;
        }
        const close = sign ? undefined : CLOSING.get(text[at] ?? '');
        if (close) return items(close);
        const name = take(NAME);
        return name !== '' && !KEYWORDS.has(name);
    };
    /** @param {string} close */
    const items = (close) => {
        at += 1;
        for (;;) {
            take(SPACE);
            if (text[at] === close) break;
            if (!value()) return false;
            take(SPACE);
            if (close === '}' && take(/:/y)) {
                if (!value()) return false;
                take(SPACE);
            }
            if (!take(/,/y) && text[at] !== close) return false;
        }
        at += 1;
        return true;
    };
    if (!value()) return false;
    take(SPACE);
    return at === text.length;
}

/**
 * What to write in place of an entry that is no value.
 * @param {string} text
 * @param {boolean} areWords
 */
function insteadOf(text, areWords) {
    const range = rangeFor(text);
    if (range) return VALUES_WORDS.instead(text, range);
    return areWords && /^[\p{L}_]/u.test(text) && !/[('"]/.test(text)
        ? VALUES_WORDS.quote(text)
        : VALUES_WORDS.noValue;
}

/** The range that means the same as a call of Python; '' if none does. @param {string} text */
function rangeFor(text) {
    const dash = text.match(new RegExp(`^(${NUMBER})\\s*-\\s*(\\d+)$`, 'i'));
    if (dash)
        return Number(dash[1]) < Number(dash[2]) && PLAIN.test(dash[1] ?? '') ? `${dash[1]}..${dash[2]}` : '';
    const [, name = '', inner = ''] = text.match(/^(?:\w+\.)?(\w+)\(([^()]*)\)$/) ?? [];
    const given = inner.split(',').map((one) => one.trim());
    if (!given.every((one) => PLAIN.test(one))) return '';
    const numbers = given.map(numberOf);
    const [low = 0, high = 0, count] = numbers;
    if (name === 'range' && numbers.length <= 3 && numbers.every(Number.isInteger)) {
        const [from, end, step] = numbers.length === 1 ? [0, low, 1] : [low, high, count ?? 1];
        const steps = Math.ceil((end - from) / step) - 1;
        if (!(steps >= 0)) return '';
        return `${from}..${from + steps * step}${step === 1 ? '' : ` step ${step}`}`;
    }
    if (numbers.length !== 3 || count === undefined || !(count >= 2)) return '';
    if (name === 'linspace') return `${given[0]}..${given[1]} in ${count}`;
    if (name === 'logspace')
        return `${shown(10 ** low, low >= 0)}..${shown(10 ** high, low >= 0)} log ${count}`;
    if (name === 'geomspace') return `${given[0]}..${given[1]} log ${count}`;
    return '';
}

/**
 * Splits a list at its commas, but not inside of brackets and strings.
 * @param {string} text
 * @returns {string[] | string} a text is the reason why it cannot be read
 */
function split(text) {
    const parts = [];
    /** @type {string[]} */
    const open = [];
    let from = 0;
    for (let at = 0; at < text.length; at += 1) {
        const sign = text[at] ?? '';
        if (sign === '"' || sign === "'") {
            const end = endOfString(text, at);
            if (end < 0) return VALUES_WORDS.unclosed(sign);
            at = end;
        } else if (CLOSING.has(sign)) open.push(sign);
        else if ([...CLOSING.values()].includes(sign)) {
            const opened = open.pop();
            if (opened === undefined || CLOSING.get(opened) !== sign) return VALUES_WORDS.unopened(sign);
        } else if (sign === ',' && open.length === 0) {
            parts.push(text.slice(from, at).trim());
            from = at + 1;
        }
    }
    const [unclosed] = open;
    if (unclosed !== undefined) return VALUES_WORDS.unclosed(unclosed);
    return [...parts, text.slice(from).trim()];
}

/**
 * The index of a string's last quote; -1 if it has none.
 * @param {string} text
 * @param {number} from
 */
function endOfString(text, from) {
    const quote = text[from] ?? '';
    const whole = text.startsWith(quote.repeat(3), from) ? quote.repeat(3) : quote;
    for (let at = from + whole.length; at < text.length; at += 1) {
        if (text[at] === '\\') at += 1;
        else if (text.startsWith(whole, at)) return at + whole.length - 1;
    }
    return -1;
}

/**
 * @param {string[]} parts the ends of the range, the word after them, and the number after it
 * @param {boolean} mayBeOpen
 * @returns {Read}
 */
function readRange([low = '', high = '', word, amount], mayBeOpen) {
    const [from, to] = [numberOf(low), numberOf(high)];
    const areInts = [low, high].every((end) => /^[+-]?[\d_]+$/.test(end));
    const kind = word?.toLowerCase();
    const isLog = kind === 'log';
    if (isLog && !(from * to > 0)) return no(VALUES_WORDS.log);
    const span = { from, to, isInt: areInts, isLog, count: null, step: null };
    if (kind === 'step') {
        const step = PLAIN.test(amount ?? '') ? numberOf(amount ?? '') : 0;
        if (!step) return no(VALUES_WORDS.step(amount ?? ''));
        const areAll = areInts && Number.isInteger(step);
        return stepped({ ...span, isInt: areAll, step }, step);
    }
    if (kind && amount === undefined && !mayBeOpen)
        return no(isLog ? VALUES_WORDS.needsCount : VALUES_WORDS.count(''));
    if (kind && amount !== undefined) {
        const count = /^\d+$/.test(amount) ? Number(amount) : 0;
        if (count < 2) return no(VALUES_WORDS.count(amount));
        if (count > MOST_VALUES) return no(VALUES_WORDS.many);
        return spread({ ...span, count });
    }
    // The sampler draws; the list is not used.
    if (mayBeOpen) return { values: [low, high], span, problem: null };
    return areInts ? stepped(span, from <= to ? 1 : -1) : no(VALUES_WORDS.needsStep);
}

/** @param {string} text */
const numberOf = (text) => Number(text.replaceAll('_', ''));

/** @param {Span} span @param {number} step @returns {Read} */
function stepped(span, step) {
    const { from, to, isInt } = span;
    if ((to - from) * step < 0) return no(VALUES_WORDS.away);
    // The noise of binary fractions must not lose the end of the range.
    const count = Math.floor((to - from) / step + 1e-9) + 1;
    if (count > MOST_VALUES) return no(VALUES_WORDS.many);
    const values = Array.from({ length: count }, (_, at) => shown(from + at * step, isInt));
    return { values, span, problem: null };
}

/** @param {Span & {count: number}} span @returns {Read} */
function spread(span) {
    const { from, to, isLog, isInt, count } = span;
    const at = (/** @type {number} */ share) =>
        isLog ? from * (to / from) ** share : from + (to - from) * share;
    const ends = new Map([
        [0, from],
        [count - 1, to],
    ]);
    const numbers = Array.from({ length: count }, (_, i) => ends.get(i) ?? at(i / (count - 1)));
    // The numbers between two integers are integers only if all are.
    const areInts = isInt && numbers.every((one) => Math.abs(one - Math.round(one)) < 1e-9);
    const values = [...new Set(numbers.map((one) => shown(one, areInts)))];
    return { values, span: { ...span, isInt: areInts }, problem: null };
}

/**
 * A number as Python source, without the noise of binary fractions.
 * @param {number} n
 * @param {boolean} isInt
 */
function shown(n, isInt) {
    if (isInt) return String(Math.round(n));
    const text = String(Number(n.toPrecision(12)));
    return /^-?\d+$/.test(text) ? `${text}.0` : text;
}
