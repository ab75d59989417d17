// @ts-check
// Printed text. Painted in blocks of lines that the browser may skip while they are off the screen; only the blocks that
// changed are painted again.

import { Component, html } from '../vendor/preact.js';
import { Terminal } from '../text/terminal.js';
import { WORDS } from '../words.js';

/** Lines per block: fewer make the browser keep too many boxes, more make the last block slow to repaint. */
const BLOCK = 1000;
/** From so many lines on, a text scrolls in a box of its own until all of it is asked for. */
const LONG = 200;
/** The height of a line in px, for blocks that were never on the screen. */
const LINE_PX = 20;

/** How much of a text's colour is kept, in per cent, so that its contrast is 4.5 at least: on a coloured ground, and else. */
const ON_COLOUR = 25;
const ON_PLAIN = 55;

/** @typedef {import('../text/terminal.js').Piece} Piece */

/** @extends {Component<{pieces: string[], count: number, name: string}, {isLong: boolean, isOpen: boolean}>} */
export class Stream extends Component {
    state = { isLong: false, isOpen: false };
    terminal = new Terminal();
    painted = 0;
    /** @type {HTMLElement | null} */
    box = null;

    componentDidMount() {
        this.#paint();
    }

    componentDidUpdate() {
        this.#paint();
    }

    #paint() {
        const { box } = this;
        const { pieces } = this.props;
        if (!box || this.painted === pieces.length) return;
        const follows = box.scrollHeight - box.scrollTop - box.clientHeight < 40;
        const more = this.painted === 0 ? pieces.join('') : pieces.slice(this.painted).join('');
        this.painted = pieces.length;
        const { lines } = this.terminal;
        const from = this.terminal.feed(more);
        // Clearing the screen makes a new list of lines.
        paintBlocks(box, this.terminal.lines, lines === this.terminal.lines ? from : 0);
        const isLong = this.terminal.lines.length > LONG;
        if (isLong !== this.state.isLong) this.setState({ isLong });
        if (follows) box.scrollTop = box.scrollHeight;
    }

    render() {
        const { name } = this.props;
        const { isLong, isOpen } = this.state;
        const toggle = () => this.setState({ isOpen: !isOpen });
        return html`
            <div class="stream" data-name=${name} data-boxed=${isLong && !isOpen ? '' : null}>
                <div class="text" tabindex=${isLong && !isOpen ? 0 : null} role=${isLong && !isOpen ? 'region' : null}
                    aria-label=${isLong && !isOpen ? name : null} ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}></div>
                ${isLong && html`<button class="quiet" onClick=${toggle}>${isOpen ? WORDS.showLess : `${WORDS.showAll}: ${this.terminal.lines.length.toLocaleString('en')} lines`}</button>`}
            </div>`;
    }
}

/** Text that is all there, such as a traceback. @param {{text: string, name: string}} props */
export const StaticText = ({ text, name }) => html`<${Stream} key=${text.length} pieces=${[text]} count=${1} name=${name} />`;

/** @param {HTMLElement} box @param {Piece[][]} lines @param {number} from first line that changed */
function paintBlocks(box, lines, from) {
    // A last line with nothing in it is only the end of the line before.
    const count = lines.length > 1 && lines.at(-1)?.length === 0 ? lines.length - 1 : lines.length;
    const blocks = Math.ceil(count / BLOCK);
    while (box.children.length > blocks) box.lastElementChild?.remove();
    for (let i = Math.min(Math.floor(from / BLOCK), box.children.length); i < blocks; i += 1) {
        const block = box.children[i] ?? box.appendChild(document.createElement('div'));
        const part = lines.slice(i * BLOCK, Math.min(count, (i + 1) * BLOCK));
        block.replaceChildren(...nodesOfLines(part));
        if (blocks > 1) {
            block.className = 'block';
            /** @type {HTMLElement} */ (block).style.containIntrinsicHeight = `auto ${part.length * LINE_PX}px`;
        }
    }
}

/** @param {Piece[][]} lines @returns {Node[]} as few nodes as the styles allow */
function nodesOfLines(lines) {
    /** @type {Node[]} */
    const nodes = [];
    let plain = '';
    const flush = () => {
        if (plain) nodes.push(document.createTextNode(plain));
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

/** @param {string} text @param {import('../text/terminal.js').Style} style */
function styled(text, style) {
    const span = document.createElement('span');
    span.textContent = text;
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
        if (bg !== null) span.style.backgroundColor = typeof bg === 'number' ? `color-mix(in srgb, ${colour(bg)} 25%, transparent)` : bg;
    }
    const classes = [style.bold && 'bold', style.dim && 'dim', style.italic && 'italic', style.underline && 'underline', style.strike && 'strike'];
    span.className = classes.filter(Boolean).join(' ');
    return span;
}

/** @param {string | number} name */
const colour = (name) => (typeof name === 'number' ? `var(--ansi-${name})` : name);
