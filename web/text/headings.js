// @ts-check
// The headings of a Markdown text. Pure.

/**
 * @typedef {{level: number, text: string}} Heading `level`: 1 to 6; `text`: without markup
 */

const FENCE = /^ {0,3}(`{3,}|~{3,})/;
const HASHES = /^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$/;
const UNDERLINE = /^ {0,3}(=+|-+)[ \t]*$/;
/** Lines that are no paragraph, so that a line of dashes below them is no heading. */
const NO_PARAGRAPH = /^(?:\s*$| {4}| {0,3}(?:[>|]|[-*+][ \t]|\d+[.)][ \t]))/;

/** The most texts whose headings are remembered. */
const MOST = 2000;
/** @type {Map<string, Heading[]>} */
const known = new Map();

/**
 * The headings, from top to bottom.
 * @param {string} text
 * @returns {readonly Heading[]}
 */
export function headingsIn(text) {
    const found = known.get(text) ?? parse(text);
    if (known.size >= MOST) known.clear();
    known.set(text, found);
    return found;
}

/** @param {string} text @returns {Heading[]} */
function parse(text) {
    /** @type {Heading[]} */
    const found = [];
    let fence = '';
    let above = '';
    for (const line of text.split(/\r?\n/)) {
        const [, mark = ''] = line.match(FENCE) ?? [];
        if (fence) {
            if (mark.startsWith(fence) && line.trim() === mark) fence = '';
            continue;
        }
        if (mark) {
            [fence, above] = [mark, ''];
            continue;
        }
        const hashes = line.match(HASHES);
        const underline = above && line.match(UNDERLINE);
        if (hashes) found.push({ level: hashes[1]?.length ?? 1, text: plain(hashes[2] ?? '') });
        else if (underline) found.push({ level: underline[1]?.startsWith('=') ? 1 : 2, text: plain(above) });
        above = hashes || underline || NO_PARAGRAPH.test(line) ? '' : line;
    }
    return found;
}

/** The text without the marks of links, images, code and emphasis. @param {string} text */
const plain = (text) =>
    text
        .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
        .replace(/<[^>]*>/g, '')
        .replace(/(`+)(.*?)\1/g, '$2')
        .replace(/(\*{1,3}|_{2,3})(\S(?:.*?\S)?)\1/g, '$2')
        .replace(/\\([\\`*_{}[\]()#+.!-])/g, '$1')
        .trim();
