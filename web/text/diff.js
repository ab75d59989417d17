// @ts-check
// How one text became another: lines that went and came, and within a line that changed the words
// that did. Pure.
//
// Myers' greedy search for the shortest way from one list to the other, after what both begin and
// end with is cut off. Two texts with hardly anything in common would take it long: past
// `MOST_EDITS` the rest is told as replaced, which is what a reader would see anyway.

/** @typedef {'=' | '-' | '+'} Sign equal, only before, only after */
/**
 * @typedef {{sign: Sign, a: number, b: number}} Step indexes into both lists; where one has
 *   nothing, of what comes next there
 */
/**
 * @typedef {{text: string, isMarked: boolean}} Part a piece of a line; marked: it differs from the
 *   other line's
 */
/**
 * @typedef {{sign: Sign, a: number | null, b: number | null, parts: Part[]}} Row a line; `a` and
 *   `b` are line numbers, from 1
 */

/** Steps that the search may need at most; its time and memory grow with their square. */
const MOST_EDITS = 600;
/** Lines longer than this, in UTF-16 units, are not compared word by word. */
const LONGEST_LINE = 2000;
/** Two lines that share less than this part of their words were not one line that changed. */
const ALIKE = 0.3;

/** @template T @param {readonly T[]} a @param {readonly T[]} b @returns {Step[]} */
export function diff(a, b) {
    let head = 0;
    const most = Math.min(a.length, b.length);
    while (head < most && a[head] === b[head]) head += 1;
    let tail = 0;
    while (tail < most - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail += 1;
    const [endA, endB] = [a.length - tail, b.length - tail];
    /** @type {Step[]} */
    const steps = [];
    for (let i = 0; i < head; i += 1) steps.push({ sign: '=', a: i, b: i });
    for (const step of middle(a.slice(head, endA), b.slice(head, endB)))
        steps.push({ sign: step.sign, a: step.a + head, b: step.b + head });
    for (let i = 0; i < tail; i += 1) steps.push({ sign: '=', a: endA + i, b: endB + i });
    return steps;
}

/**
 * The item at an index that a list has.
 * @template T @param {readonly T[]} list @param {number} i @returns {T}
 */
export function itemAt(list, i) {
    const item = list[i];
    if (item === undefined) throw new RangeError(`the list has no item ${i}`);
    return item;
}

/** @template T @param {readonly T[]} a @param {readonly T[]} b @returns {Step[]} */
function middle(a, b) {
    const trace = a.length && b.length ? search(a, b) : null;
    return trace ? walk(trace, a.length, b.length) : replaced(a.length, b.length);
}

/**
 * For each number of edits, how far along `a` one comes on each diagonal; null when it takes too
 * many.
 * @template T
 * @param {readonly T[]} a
 * @param {readonly T[]} b
 * @returns {Int32Array[] | null}
 */
function search(a, b) {
    const most = Math.min(a.length + b.length, MOST_EDITS);
    const far = new Int32Array(2 * most + 3);
    const trace = [];
    for (let edits = 0; edits <= most; edits += 1) {
        trace.push(far.slice(most + 1 - edits - 1, most + 1 + edits + 2));
        for (let k = -edits; k <= edits; k += 2) {
            const at = most + 1 + k;
            const [left, right] = [far[at - 1] ?? 0, far[at + 1] ?? 0];
            const comesDown = k === -edits || (k !== edits && left < right);
            let x = comesDown ? right : left + 1;
            while (x < a.length && x - k < b.length && a[x] === b[x - k]) x += 1;
            far[at] = x;
            if (x >= a.length && x - k >= b.length) return trace;
        }
    }
    return null;
}

/**
 * The way back from the end.
 * @param {Int32Array[]} trace
 * @param {number} x
 * @param {number} y
 * @returns {Step[]}
 */
function walk(trace, x, y) {
    /** @type {Step[]} */
    const steps = [];
    for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
        // What was kept of this round stands around the diagonal 0, `edits + 1` to each side.
        const far = (/** @type {number} */ k) => trace[edits]?.[k + edits + 1] ?? 0;
        const k = x - y;
        const comesDown = k === -edits || (k !== edits && far(k - 1) < far(k + 1));
        const before = comesDown ? k + 1 : k - 1;
        const fromX = edits === 0 ? 0 : far(before);
        const fromY = edits === 0 ? 0 : fromX - before;
        while (x > fromX && y > fromY) steps.push({ sign: '=', a: (x -= 1), b: (y -= 1) });
        if (edits === 0) break;
        if (comesDown) steps.push({ sign: '+', a: x, b: (y -= 1) });
        else steps.push({ sign: '-', a: (x -= 1), b: y });
    }
    return steps.reverse();
}

/** @param {number} a @param {number} b @returns {Step[]} all of one, then all of the other */
const replaced = (a, b) => [
    ...Array.from({ length: a }, (_, i) => /** @type {Step} */ ({ sign: '-', a: i, b: 0 })),
    ...Array.from({ length: b }, (_, i) => /** @type {Step} */ ({ sign: '+', a, b: i })),
];

/**
 * The lines of two texts, those that went before those that came, with the words marked that
 * differ.
 * @param {string} before
 * @param {string} after
 * @returns {Row[]}
 */
export function diffLines(before, after) {
    const [a, b] = [linesOf(before), linesOf(after)];
    /** @type {Row[]} */
    const rows = [];
    /** @type {Row[]} */
    let gone = [];
    /** @type {Row[]} */
    let come = [];
    const flush = () => {
        markPairs(gone, come);
        rows.push(...gone, ...come);
        [gone, come] = [[], []];
    };
    for (const { sign, a: i, b: j } of diff(a, b)) {
        if (sign === '-') gone.push({ sign, a: i + 1, b: null, parts: plain(itemAt(a, i)) });
        else if (sign === '+') come.push({ sign, a: null, b: j + 1, parts: plain(itemAt(b, j)) });
        else {
            flush();
            rows.push({ sign, a: i + 1, b: j + 1, parts: plain(itemAt(a, i)) });
        }
    }
    flush();
    return rows;
}

/**
 * A text without an end of line at its end has as many lines as one with it; an empty one has none.
 * @param {string} text
 */
const linesOf = (text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** @param {string} text @returns {Part[]} */
const plain = (text) => [{ text, isMarked: false }];

/** @param {Row} row */
const textOf = ({ parts }) => parts.map(({ text }) => text).join('');

/**
 * The first line that went is the first that came, changed; and so on.
 * @param {Row[]} gone
 * @param {Row[]} come
 */
function markPairs(gone, come) {
    for (const [i, one] of gone.slice(0, come.length).entries()) {
        const other = itemAt(come, i);
        [one.parts, other.parts] = diffWords(textOf(one), textOf(other));
    }
}

/**
 * One line as it was and as it is, with what differs marked; nothing is where hardly anything is
 * common.
 * @param {string} before
 * @param {string} after
 * @returns {[Part[], Part[]]}
 */
export function diffWords(before, after) {
    if (before.length > LONGEST_LINE || after.length > LONGEST_LINE) return [plain(before), plain(after)];
    const [a, b] = [wordsOf(before), wordsOf(after)];
    const steps = diff(a, b);
    const common = steps
        .filter(({ sign, a: i }) => sign === '=' && a[i]?.trim())
        .reduce((sum, { a: i }) => sum + itemAt(a, i).length, 0);
    if (common < ALIKE * Math.max(before.trim().length, after.trim().length))
        return [plain(before), plain(after)];
    return [
        joined(
            steps
                .filter(({ sign }) => sign !== '+')
                .map(({ sign, a: i }) => ({ text: itemAt(a, i), isMarked: sign === '-' })),
        ),
        joined(
            steps
                .filter(({ sign }) => sign !== '-')
                .map(({ sign, b: j }) => ({ text: itemAt(b, j), isMarked: sign === '+' })),
        ),
    ];
}

/**
 * Words, numbers, runs of blanks, and each other sign by itself.
 * @param {string} text
 * @returns {string[]}
 */
const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

/** @param {Part[]} parts @returns {Part[]} neighbours of one kind are one */
function joined(parts) {
    /** @type {Part[]} */
    const all = [];
    for (const part of parts) {
        const last = all.at(-1);
        if (last && last.isMarked === part.isMarked) last.text += part.text;
        else all.push({ ...part });
    }
    return all;
}

/**
 * The rows around what changed; where many in between are equal there is their number instead.
 * @param {Row[]} rows
 * @param {number} [host] equal rows that stay to each side
 * @returns {(Row | {folded: Row[]})[]}
 */
export function fold(rows, host = 3) {
    const isNear = rows.map(() => false);
    rows.forEach(({ sign }, i) => {
        if (sign === '=') return;
        for (let j = Math.max(0, i - host); j <= Math.min(rows.length - 1, i + host); j += 1)
            isNear[j] = true;
    });
    /** @type {(Row | {folded: Row[]})[]} */
    const all = [];
    rows.forEach((row, i) => {
        const last = all.at(-1);
        if (isNear[i]) all.push(row);
        else if (last && 'folded' in last) last.folded.push(row);
        else all.push({ folded: [row] });
    });
    // A fold of one line would take as much room as the line.
    return all.flatMap((one) => ('folded' in one && one.folded.length === 1 ? one.folded : [one]));
}

/**
 * How much of two texts is the same, from 0 to 1, by their lines.
 * @param {string} before
 * @param {string} after
 */
export function likeness(before, after) {
    const [a, b] = [linesOf(before).map((line) => line.trim()), linesOf(after).map((line) => line.trim())];
    if (a.length === 1 && b.length === 1) return wordLikeness(itemAt(a, 0), itemAt(b, 0));
    const equal = diff(a, b).filter(({ sign, a: i }) => sign === '=' && a[i]).length;
    return equal / Math.max(1, Math.max(a.filter(Boolean).length, b.filter(Boolean).length));
}

/** @param {string} before @param {string} after */
function wordLikeness(before, after) {
    // Signs such as brackets are in every line of code.
    const words = (/** @type {string} */ text) => text.slice(0, LONGEST_LINE).match(/[\p{L}\p{N}_]+/gu) ?? [];
    const [a, b] = [words(before), words(after)];
    return diff(a, b).filter(({ sign }) => sign === '=').length / Math.max(1, a.length, b.length);
}
