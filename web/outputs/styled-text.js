// @ts-check
// Styled text as elements of the page: colours readable in both themes, addresses as links.

import { withLinks } from '../text/urls.js';
import { Terminal } from '../text/terminal.js';

/** @typedef {import('../text/terminal.js').Line} Line */

/**
 * The share of a text colour that is kept, in percent, for a contrast of at least 4.5: on a
 * coloured background (`ON_COLOUR`) and on others (`ON_PLAIN`).
 */
const ON_COLOUR = 25;
const ON_PLAIN = 55;

/** @param {string} text with escape sequences @returns {Node[]} */
export function nodesOfText(text) {
    const terminal = new Terminal();
    terminal.feed(text);
    return nodesOfLines(terminal.lines);
}

/** Creates as few nodes as the styles allow. @param {Line[]} lines @returns {Node[]} */
export function nodesOfLines(lines) {
    /** @type {Node[]} */
    const nodes = [];
    let plain = '';
    const flush = () => {
        if (plain) nodes.push(...nodesOf(plain));
        plain = '';
    };
    lines.forEach((line, i) => {
        if (typeof line === 'string') plain += line;
        else
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
        // Mixes the text colour with the ink colour, so that the text is readable in both themes.
        // On a coloured background it mixes in more ink.
        const share = typeof bg === 'number' ? ON_COLOUR : typeof fg === 'string' ? ON_PLAIN : 100;
        if (fg !== null) span.style.color = `color-mix(in oklab, ${colour(fg)} ${share}%, var(--ink))`;
        // The palette is for text. Background colours are toned down, so that text of any colour is
        // readable on them.
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
