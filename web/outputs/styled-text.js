// @ts-check
// Styled text as elements of the page: colours that can be read on both grounds, and addresses as links.

import { withLinks } from '../text/urls.js';
import { Terminal } from '../text/terminal.js';

/** @typedef {import('../text/terminal.js').Piece} Piece */

/** How much of a text's colour is kept, in per cent, so that its contrast is 4.5 at least: on a coloured ground, and else. */
const ON_COLOUR = 25;
const ON_PLAIN = 55;

/** @param {string} text with a terminal's escapes @returns {Node[]} */
export function nodesOfText(text) {
    const terminal = new Terminal();
    terminal.feed(text);
    return nodesOfLines(terminal.lines);
}

/** @param {Piece[][]} lines @returns {Node[]} as few nodes as the styles allow */
export function nodesOfLines(lines) {
    /** @type {Node[]} */
    const nodes = [];
    let plain = '';
    const flush = () => {
        if (plain) nodes.push(...nodesOf(plain));
        plain = '';
    };
    lines.forEach((line, i) => {
        for (const { text, style } of line) {
            if (style) {
                flush();
                nodes.push(styled(text, style));
            } else {
                plain += text;
            }
        }
        if (i < lines.length - 1) plain += '\n';
    });
    flush();
    return nodes;
}

/** @param {string} text @returns {Node[]} */
function nodesOf(text) {
    return withLinks(text).map((piece) =>
        piece.isLink ? link(piece.text) : document.createTextNode(piece.text),
    );
}

/** @param {string} address */
function link(address) {
    const one = document.createElement('a');
    one.href = address;
    one.target = '_blank';
    one.rel = 'noopener noreferrer';
    one.textContent = address;
    return one;
}

/** @param {string} text @param {import('../text/terminal.js').Style} style */
function styled(text, style) {
    const span = document.createElement('span');
    span.append(...nodesOf(text));
    const { fg, bg, inverse } = style;
    if (inverse) {
        span.style.color = bg === null ? 'var(--paper)' : colour(bg);
        span.style.backgroundColor = fg === null ? 'var(--ink)' : colour(fg);
    } else {
        // A colour that was mixed for one ground is drawn towards the ink, so that it can be read on both; more so where
        // the ground is coloured, too.
        const share = typeof bg === 'number' ? ON_COLOUR : typeof fg === 'string' ? ON_PLAIN : 100;
        if (fg !== null) span.style.color = `color-mix(in oklab, ${colour(fg)} ${share}%, var(--ink))`;
        // The palette is made for text; as a ground it steps back, so that text of any colour can be read on it.
        if (bg !== null) span.style.backgroundColor = `color-mix(in srgb, ${colour(bg)} 25%, transparent)`;
    }
    const classes = [
        style.bold && 'bold',
        style.dim && 'dim',
        style.italic && 'italic',
        style.underline && 'underline',
        style.strike && 'strike',
    ];
    span.className = classes.filter(Boolean).join(' ');
    return span;
}

/** @param {string | number} name */
const colour = (name) => (typeof name === 'number' ? `var(--ansi-${name})` : name);
