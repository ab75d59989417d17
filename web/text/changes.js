// @ts-check
// Changes of a text, as CodeMirror's ChangeSets. Pure.

import { ChangeSet, diff, presentableDiff, Text } from '../vendor/codemirror.js';

/** @typedef {import('../vendor/codemirror.js').ChangeSet} Changes */

/**
 * Differences that are looked for in one stretch before the comparison gets coarse. Coarse ones are
 * found fast.
 */
const SCAN_LIMIT = 300;

/** @param {string} text a `\r` is a character of it, as it is on the server */
const textOf = (text) => Text.of(text.split('\n'));

/** @param {string} text @returns {Changes} */
export const noChanges = (text) => ChangeSet.empty(text.length);

/**
 * The changes that turn one text into another, sign by sign; the same for the same two texts.
 * @param {string} before
 * @param {string} after
 */
export const changesBetween = (before, after) => made(diff, before, after);

/**
 * The same in whole words: of two people who replaced one word, both words are whole.
 * @param {string} before
 * @param {string} after
 */
export const wordChangesBetween = (before, after) => made(presentableDiff, before, after);

/** @param {typeof diff} compare @param {string} before @param {string} after @returns {Changes} */
function made(compare, before, after) {
    const changes = compare(before, after, { scanLimit: SCAN_LIMIT }).map(({ fromA, toA, fromB, toB }) => ({
        from: fromA,
        to: toA,
        insert: textOf(after.slice(fromB, toB)),
    }));
    return ChangeSet.of(changes, before.length);
}

/** @param {Changes} changes @param {string} text */
export const applied = (changes, text) => changes.apply(textOf(text)).toString();

/**
 * The changes that somebody says led from one text to another; those that can be seen, where that
 * is not so.
 * @param {unknown} said a ChangeSet as JSON @param {string} before @param {string} after @returns
 *   {Changes}
 */
export function changesSaid(said, before, after) {
    try {
        const changes = ChangeSet.fromJSON(said);
        if (changes.length === before.length && applied(changes, before) === after) return changes;
    } catch {
        // It is no ChangeSet.
    }
    return wordChangesBetween(before, after);
}

/**
 * Where the first of some changes begins, in the text before them.
 * @param {Changes} changes
 * @returns {number | null}
 */
export function startOf(changes) {
    /** @type {number | null} */
    let start = null;
    changes.iterChanges((from) => (start ??= from));
    return start;
}

/**
 * Where the last of some changes ends, in the text after them.
 * @param {Changes} changes
 * @returns {number | null}
 */
export function endOf(changes) {
    /** @type {number | null} */
    let end = null;
    changes.iterChanges((_from, _to, _fromAfter, to) => (end = to));
    return end;
}
