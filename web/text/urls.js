// @ts-check
// Finds URLs in printed text. Pure.

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`\x00-\x1f\u202a-\u202e\u2066-\u2069]+/g;

/**
 * Splits a text at its URLs and marks them.
 * @param {string} text
 * @returns {{text: string, isLink: boolean}[]}
 */
export function withLinks(text) {
    if (!text.includes('://')) return [{ text, isLink: false }];
    const pieces = [];
    let at = 0;
    for (const found of text.matchAll(ADDRESS)) {
        const address = trimmed(found[0]);
        if (found.index > at) pieces.push({ text: text.slice(at, found.index), isLink: false });
        pieces.push({ text: address, isLink: true });
        at = found.index + address.length;
    }
    if (at < text.length) pieces.push({ text: text.slice(at), isLink: false });
    return pieces;
}

/** Punctuation after a URL, and the opening bracket of each closing bracket. */
const MARKS = '.,;:!?…';
const BRACKETS = /** @type {Record<string, string>} */ ({ ')': '(', ']': '[', '}': '{' });

/**
 * Strips trailing punctuation and unmatched closing brackets from a URL, in linear time.
 * @param {string} address
 */
function trimmed(address) {
    /** How often each character occurs in the remaining URL. @type {Map<string, number>} */
    const counts = new Map();
    const count = (/** @type {string | undefined} */ one) => counts.get(one ?? '') ?? 0;
    for (const one of address) counts.set(one, count(one) + 1);
    let end = address.length;
    for (; end > 0; end -= 1) {
        const last = address.charAt(end - 1);
        const isOpen = last in BRACKETS && count(last) > count(BRACKETS[last]);
        if (isOpen) counts.set(last, count(last) - 1);
        else if (!MARKS.includes(last)) break;
    }
    return address.slice(0, end);
}
