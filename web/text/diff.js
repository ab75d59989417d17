// @ts-check
// The differences between two texts: removed and added lines, and the changed words of changed
// lines. Pure.
//
// Myers' greedy search for the shortest edit script, after the common prefix and suffix are cut
// off. The search is slow for texts with little in common: beyond `MOST_EDITS`, it counts the rest
// as replaced, as a reader would.

/** @typedef {'=' | '-' | '+'} Sign equal, only in the first text, only in the second text */
/**
 * @typedef {{sign: Sign, a: number, b: number}} Step indexes into both lists; for a list without
 *   the item, the index of its next item
 */
/**
 * @typedef {{text: string, isMarked: boolean}} Part a piece of a line; `isMarked`: it differs from
 *   the other line
 */
/**
 * @typedef {{sign: Sign, a: number | null, b: number | null, parts: Part[]}} Row a line; `a` and
 *   `b` are line numbers, from 1
 */

/** The most edits that the search tries; its time and memory grow with their square. */
const MOST_EDITS = 600;
/** Lines longer than this, in UTF-16 units, are not compared word by word. */
const LONGEST_LINE = 2000;
/** Two lines that share a smaller part of their words have no marked words. */
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
 * The item at an index, which must exist.
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
 * The furthest index in `a` on each diagonal, for each number of edits; null if there are too
 * many edits.
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
 * Follows the search back from the end and returns its steps.
 * @param {Int32Array[]} trace
 * @param {number} x
 * @param {number} y
 * @returns {Step[]}
 */
function walk(trace, x, y) {
    /** @type {Step[]} */
    const steps = [];
    for (let edits = trace.length - 1; edits >= 0; edits -= 1) {
        // `trace[edits]` begins with diagonal `-(edits + 1)`.
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

/** @param {number} a @param {number} b @returns {Step[]} all of `a`, then all of `b` */
const replaced = (a, b) => [
    ...Array.from({ length: a }, (_, i) => /** @type {Step} */ ({ sign: '-', a: i, b: 0 })),
    ...Array.from({ length: b }, (_, i) => /** @type {Step} */ ({ sign: '+', a, b: i })),
];

/**
 * The lines of two texts, removed lines before added lines, with changed words marked.
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
 * The lines of a text. A line end at the end does not start another line. An empty text has no
 * lines.
 * @param {string} text
 */
const linesOf = (text) => (text === '' ? [] : text.replace(/\n$/, '').split('\n'));

/** @param {string} text @returns {Part[]} */
const plain = (text) => [{ text, isMarked: false }];

/** @param {Row} row */
const textOf = ({ parts }) => parts.map(({ text }) => text).join('');

/**
 * Pairs removed and added lines in order, as changed lines.
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
 * An old and a new line with their differences marked; nothing is marked if they have little in
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
 * Splits a text into words, numbers, whitespace, and other single characters.
 * @param {string} text
 * @returns {string[]}
 */
const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];

/** Joins adjacent parts of the same kind. @param {Part[]} parts @returns {Part[]} */
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
 * The changed rows and their context. Other equal rows are folded.
 * @param {Row[]} rows
 * @param {number} [context] the number of equal rows kept on each side
 * @returns {(Row | {folded: Row[]})[]}
 */
export function fold(rows, context = 3) {
    const isNear = rows.map(() => false);
    rows.forEach(({ sign }, i) => {
        if (sign === '=') return;
        for (let j = Math.max(0, i - context); j <= Math.min(rows.length - 1, i + context); j += 1)
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
 * The share of equal lines of two texts, from 0 to 1.
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
    // Punctuation such as brackets occurs in every line of code.
    const words = (/** @type {string} */ text) => text.slice(0, LONGEST_LINE).match(/[\p{L}\p{N}_]+/gu) ?? [];
    const [a, b] = [words(before), words(after)];
    return diff(a, b).filter(({ sign }) => sign === '=').length / Math.max(1, a.length, b.length);
}
