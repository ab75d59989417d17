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

/** Without the marks that end a sentence or a bracket around it. @param {string} address */
function trimmed(address) {
    let end = address.replace(/[.,;:!?…]+$/, '');
    for (const [open, close] of ['()', '[]', '{}']) {
        while (end.endsWith(close) && count(end, close) > count(end, open)) end = end.slice(0, -1).replace(/[.,;:!?]+$/, '');
    }
    return end;
}

/** @param {string} text @param {string} one */
const count = (text, one) => text.split(one).length - 1;
