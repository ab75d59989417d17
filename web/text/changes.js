// @ts-check
// Changes of a text, as CodeMirror's ChangeSets. Pure.

import { ChangeSet, diff, presentableDiff, Text } from '../vendor/codemirror.js';

/** @typedef {import('../vendor/codemirror.js').ChangeSet} Changes */
/** @typedef {{from: number, to?: number, insert: Text}} Change */

/**
 * After this many differences in one section, the comparison becomes coarse and fast.
 */
const SCAN_LIMIT = 300;

/** @param {string} text `\r` stays a character, as on the server */
const textOf = (text) => Text.of(text.split('\n'));

/** @param {string} text @returns {Changes} */
export const noChanges = (text) => ChangeSet.empty(text.length);

/**
 * The changes that turn one text into another, character by character. Deterministic.
 * @param {string} before
 * @param {string} after
 */
export const changesBetween = (before, after) => made(diff, before, after);

/**
 * Like `changesBetween`, but in whole words: if two people replace the same word, both new words
 * stay whole.
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

/** @param {Change[]} changes @param {string} text @returns {Changes} */
export const changesOf = (changes, text) => ChangeSet.of(changes, text.length);

/** @param {Changes} changes @param {string} text */
export const applied = (changes, text) => changes.apply(textOf(text)).toString();

/**
 * The changes from one text to another: those that a client claims, if they are correct; otherwise
 * those found by comparing the texts.
 * @param {unknown} claimed a ChangeSet as JSON
 * @param {string} before
 * @param {string} after
 * @returns {Changes}
 */
export function claimedChanges(claimed, before, after) {
    try {
        const changes = ChangeSet.fromJSON(claimed);
        if (changes.length === before.length && applied(changes, before) === after) return changes;
    } catch {
        // Not a ChangeSet.
    }
    return wordChangesBetween(before, after);
}

/**
 * The insertions of some changes, without the deletions.
 * @param {Changes} changes
 * @param {string} text the text before the changes
 */
export function insertionsOf(changes, text) {
    /** @type {Change[]} */
    const insertions = [];
    changes.iterChanges((_from, to, _fromAfter, _toAfter, insert) => insertions.push({ from: to, insert }));
    return changesOf(insertions, text);
}

/**
 * The offset at which the first change begins, in the text before the changes.
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
 * The offset at which the last change ends, in the text after the changes.
 * @param {Changes} changes
 * @returns {number | null}
 */
export function endOf(changes) {
    /** @type {number | null} */
    let end = null;
    changes.iterChanges((_from, _to, _fromAfter, to) => (end = to));
    return end;
}
