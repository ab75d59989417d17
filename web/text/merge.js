// @ts-check
// Changes of a text: found, laid together with those of others, and where a place in it is
// afterwards. Pure.
//
// Two people who change one text both keep what they typed: what either has taken away is gone, and
// what both have put in is there. Where both put something in at the same place, the text that was
// there first stands first, except that nobody's own typing is torn apart: it goes on where it had
// come to.

/**
 * @typedef {{from: number, to: number, insert: string}} Edit A replacement, in places of the text
 *   before.
 */

/**
 * Words, gaps and single signs: by these two texts are compared first, and what differs between
 * them sign by sign.
 */
const WORDS = /[\p{L}\p{N}_]+|[^\S\n]+|[^]/gu;
const SIGNS = /[^]/gu;
/** What differs in more units than this is not compared sign by sign. */
const LONG = 4000;
/** How many differences are looked for; texts that differ more are one replacement. */
const MOST = 300;

/**
 * The changes that turn one text into another, in order, none touching the next.
 * @param {string} before @param {string} after @returns {Edit[]}
 */
export function edits(before, after) {
    return words(before, after).flatMap((word) => pieces(word, before, SIGNS));
}

/**
 * The same, as words that were put in the place of others.
 * @param {string} before
 * @param {string} after
 */
const words = (before, after) =>
    pieces(trimmed({ from: 0, to: before.length, insert: after }, before), before, WORDS);

/**
 * A replacement as several smaller ones, between what stays.
 * @param {Edit} edit
 * @param {string} before
 * @param {RegExp} kind
 * @returns {Edit[]}
 */
function pieces(edit, before, kind) {
    if (edit.from === edit.to || edit.insert === '')
        return edit.from === edit.to && edit.insert === '' ? [] : [edit];
    if (kind === SIGNS && edit.to - edit.from + edit.insert.length > LONG) return [edit];
    const old = before.slice(edit.from, edit.to).match(kind) ?? [];
    const now = edit.insert.match(kind) ?? [];
    const common = commonTokens(old, now);
    // A word in the place of another is that, even if they share a letter.
    if (common === null || (kind === SIGNS && common.length * 2 < Math.min(old.length, now.length)))
        return [edit];
    /** @type {Edit[]} */
    const found = [];
    let [i, j, at] = [0, 0, edit.from];
    for (const [keptOld, keptNow] of [
        ...common,
        /** @type {[number, number]} */ ([old.length, now.length]),
    ]) {
        const to = at + old.slice(i, keptOld).join('').length;
        const insert = now.slice(j, keptNow).join('');
        if (to > at || insert) found.push(trimmed({ from: at, to, insert }, before));
        at = to + (old[keptOld]?.length ?? 0);
        [i, j] = [keptOld + 1, keptNow + 1];
    }
    return found;
}

/**
 * What a text reads after the changes of both.
 * @param {string} base what both began with
 * @param {string} mine
 * @param {string} theirs what is there already
 * @param {number} [held] the place in `base` where our typing had come to: it goes on there, before
 *   theirs
 * @returns {string}
 */
export function merge(base, mine, theirs, held = -1) {
    if (mine === base || mine === theirs) return theirs;
    if (theirs === base) return mine;
    const others = words(base, theirs);
    // The same word put in the place of the same word: both meant one thing.
    const isTwin = (/** @type {Edit} */ one) =>
        one.to > one.from &&
        others.some((other) => other.from === one.from && other.to === one.to && other.insert === one.insert);
    const ours = words(base, mine)
        .filter((word) => !isTwin(word))
        .flatMap((word) => pieces(word, base, SIGNS));
    const all = [
        ...ours.map((edit) => ({ ...edit, rank: edit.from === held ? 0 : 2 })),
        ...others.flatMap((word) => pieces(word, base, SIGNS)).map((edit) => ({ ...edit, rank: 1 })),
    ].sort((a, b) => a.from - b.from || a.rank - b.rank);
    let [text, at] = ['', 0];
    for (const { from, to, insert } of all) {
        text += base.slice(at, Math.max(at, from)) + insert;
        at = Math.max(at, to);
    }
    return text + base.slice(at);
}

/**
 * Where a place of a text is after changes; what is put in right there stands behind it.
 * @param {number} offset
 * @param {Edit[]} changes
 * @returns {number}
 */
export function offsetAfter(offset, changes) {
    let moved = 0;
    for (const { from, to, insert } of changes) {
        if (from >= offset) break;
        moved += insert.length - (Math.min(to, offset) - from);
    }
    return offset + moved;
}

/**
 * A replacement without what stays the same at its ends.
 * @param {Edit} edit
 * @param {string} before
 * @returns {Edit}
 */
function trimmed({ from, to, insert }, before) {
    let start = 0;
    const most = Math.min(to - from, insert.length);
    while (start < most && before[from + start] === insert[start]) start += 1;
    if (isInsidePair(before, from + start) || isInsidePair(insert, start)) start -= 1;
    let end = 0;
    while (end < most - start && before[to - 1 - end] === insert[insert.length - 1 - end]) end += 1;
    if (isInsidePair(before, to - end) || isInsidePair(insert, insert.length - end)) end -= 1;
    return { from: from + start, to: to - end, insert: insert.slice(start, insert.length - end) };
}

/**
 * Whether a place is in the middle of a character of two units.
 * @param {string} text
 * @param {number} offset
 */
const isInsidePair = (text, offset) =>
    offset > 0 &&
    offset < text.length &&
    /[\uD800-\uDBFF]/.test(text[offset - 1]) &&
    /[\uDC00-\uDFFF]/.test(text[offset]);

/**
 * The longest common sequence of two lists, as pairs of places (Myers' greedy algorithm); null when
 * they differ too much.
 * @param {string[]} old
 * @param {string[]} now
 * @returns {[number, number][] | null}
 */
function commonTokens(old, now) {
    const most = Math.min(old.length + now.length, MOST);
    /** How far each diagonal has come, after so many differences. @type {Map<number, number>[]} */
    const rounds = [];
    let reach = new Map([[1, 0]]);
    for (let differences = 0; differences <= most; differences += 1) {
        rounds.push(new Map(reach));
        const next = new Map(reach);
        for (let diagonal = -differences; diagonal <= differences; diagonal += 2) {
            const isDown =
                diagonal === -differences ||
                (diagonal !== differences &&
                    (reach.get(diagonal - 1) ?? -1) < (reach.get(diagonal + 1) ?? -1));
            let x = isDown ? (reach.get(diagonal + 1) ?? 0) : (reach.get(diagonal - 1) ?? 0) + 1;
            while (x < old.length && x - diagonal < now.length && old[x] === now[x - diagonal]) x += 1;
            next.set(diagonal, x);
            if (x >= old.length && x - diagonal >= now.length) return wayBack(rounds, old, now);
        }
        reach = next;
    }
    return null;
}

/**
 * @param {Map<number, number>[]} rounds
 * @param {string[]} old
 * @param {string[]} now
 * @returns {[number, number][]}
 */
function wayBack(rounds, old, now) {
    /** @type {[number, number][]} */
    const common = [];
    let [x, y] = [old.length, now.length];
    for (let differences = rounds.length - 1; differences >= 0; differences -= 1) {
        const reach = rounds[differences];
        const diagonal = x - y;
        const isDown =
            diagonal === -differences ||
            (diagonal !== differences && (reach.get(diagonal - 1) ?? -1) < (reach.get(diagonal + 1) ?? -1));
        const before = isDown ? diagonal + 1 : diagonal - 1;
        const fromX = differences === 0 ? 0 : (reach.get(before) ?? 0);
        const fromY = differences === 0 ? 0 : fromX - before;
        while (x > fromX && y > fromY && old[x - 1] === now[y - 1]) {
            x -= 1;
            y -= 1;
            common.push([x, y]);
        }
        [x, y] = [fromX, fromY];
    }
    return common.reverse();
}
