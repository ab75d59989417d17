// @ts-check
// Two changes of one text, laid together where they do not touch. Pure.

import { difference } from './format.js';

/**
 * What a text reads after both changes; null where they touch, because only a person knows then what was meant.
 * @param {string} base what both began with @param {string} mine @param {string} theirs @returns {string | null}
 */
export function merge(base, mine, theirs) {
    if (mine === base || mine === theirs) return theirs;
    if (theirs === base) return mine;
    const [first, second] = [difference(base, mine), difference(base, theirs)].sort((a, b) => a.from - b.from);
    if (first.to >= second.from) return null;
    return base.slice(0, first.from) + first.insert + base.slice(first.to, second.from) + second.insert + base.slice(second.to);
}
