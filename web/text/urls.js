// @ts-check
// Addresses in printed text. Pure.

const ADDRESS = /\bhttps?:\/\/[^\s<>"'`\x00-\x1f\u202a-\u202e\u2066-\u2069]+/g;

/** Text in pieces, those that are an address marked. @param {string} text @returns {{text: string, isLink: boolean}[]} */
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

/** Marks that end a sentence, and what closes a bracket around an address, with what opened it. */
const MARKS = '.,;:!?…';
const BRACKETS = /** @type {Record<string, string>} */ ({ ')': '(', ']': '[', '}': '{' });

/** Without the marks that end a sentence or a bracket around it. Each character is looked at once. @param {string} address */
function trimmed(address) {
    /** How often each bracket stands in what is left. @type {Record<string, number>} */
    const count = { '(': 0, ')': 0, '[': 0, ']': 0, '{': 0, '}': 0 };
    for (const one of address) if (one in count) count[one] += 1;
    let end = address.length;
    for (; end > 0; end -= 1) {
        const last = address[end - 1];
        const isOpen = last in BRACKETS && count[last] > count[BRACKETS[last]];
        if (isOpen) count[last] -= 1;
        else if (!MARKS.includes(last)) break;
    }
    return address.slice(0, end);
}
