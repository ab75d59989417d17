// @ts-check
// Printed text. It is painted in blocks of lines that the browser may skip off-screen; only changed
// blocks are painted again.

import { Component, html } from '../vendor/preact.js';
import { Terminal, piecesIn } from '../text/terminal.js';
import { OUTPUT_WORDS } from './output-words.js';
import { keep, recall } from './output-settings.js';
import { nodesOfLines } from './styled-text.js';

/** Lines per block: fewer need too many boxes, more make repainting the last block slow. */
const BLOCK = 250;
/** Texts with more lines scroll in a box until expanded. */
const LONG = 200;
/** The text parsed at a time, in characters, and the parsing time per frame, in milliseconds. */
const SLICE = 32_768;
const BUDGET_MS = 8;
/**
 * If frames take long, parsing may take more time per frame, up to this limit in milliseconds.
 */
const LONGEST_BUDGET_MS = 250;
/** The line height in px, for blocks that were never on screen. */
const LINE_PX = 20;

/** @typedef {import('../text/terminal.js').Line} Line */

/**
 * @typedef {{pieces: string[], count: number, name: string, id: string, isGrowing?: boolean}}
 *   StreamProps `id`: the storage key of the expanded state
 */

/** @extends {Component<StreamProps, {lines: number, isOpen: boolean}>} */
export class Stream extends Component {
    state = { lines: 0, isOpen: recall(`open ${this.props.id}`) === true };
    terminal = new Terminal();
    /** The number of pieces painted, and the offset in the next one. */
    painted = 0;
    offset = 0;
    /** The number of lines painted. */
    count = 0;
    /** When the last frame began; Infinity if all text was painted in it. */
    began = Infinity;
    /** @type {number | undefined} the requested animation frame, which paints the rest */
    next = undefined;
    /** @type {boolean | undefined} whether the text was still growing at the last paint */
    wasGrowing = false;
    /** @type {HTMLElement | null} */
    box = null;

    componentDidMount() {
        this.#paint();
    }

    componentWillUnmount() {
        cancelAnimationFrame(this.next ?? 0);
        this.box = null;
    }

    componentDidUpdate() {
        this.#paint();
    }

    #paint() {
        const { box } = this;
        const { pieces, isGrowing } = this.props;
        if (!box || this.painted === pieces.length) return;
        cancelAnimationFrame(this.next ?? 0);
        const follows =
            (isGrowing || this.wasGrowing) && box.scrollHeight - box.scrollTop - box.clientHeight < 40;
        this.wasGrowing = isGrowing;
        const { lines: before } = this.terminal;
        const from = this.#feed(pieces);
        // Clearing the screen creates a new list of lines: paint from the first line.
        const { lines: now } = this.terminal;
        const lines = paintLines(box, now, now === before ? Math.min(from, this.count - 1) : 0);
        this.count = lines;
        const follow = () => {
            if (follows) box.scrollTop = box.scrollHeight;
        };
        if (lines !== this.state.lines && lines > LONG) this.setState({ lines }, follow);
        else follow();
        // If no text is waiting, the time until the next paint says nothing about how long frames
        // take.
        if (this.painted === pieces.length) this.began = Infinity;
        else this.next = requestAnimationFrame(() => this.#paint());
    }

    /**
     * Parses as much text as one frame allows.
     * @param {string[]} pieces
     * @returns {number} the first line that changed
     */
    #feed(pieces) {
        const now = performance.now();
        const end = now + Math.max(BUDGET_MS, Math.min(LONGEST_BUDGET_MS, (now - this.began) / 2));
        this.began = now;
        let from = Infinity;
        while (this.painted < pieces.length && (from === Infinity || performance.now() < end)) {
            const piece = pieces[this.painted] ?? '';
            const to = Math.min(piece.length, this.offset + SLICE);
            from = Math.min(from, this.terminal.feed(piece.slice(this.offset, to)));
            this.offset = to;
            if (to < piece.length) continue;
            this.painted += 1;
            this.offset = 0;
        }
        return from;
    }

    render() {
        const { name } = this.props;
        const { lines, isOpen } = this.state;
        const isLong = lines > LONG;
        const isBoxed = isLong && !isOpen;
        const toggle = () => {
            keep(`open ${this.props.id}`, !isOpen || undefined);
            this.setState({ isOpen: !isOpen });
        };
        return html`
            <div class="stream" data-name=${name} data-boxed=${isBoxed ? '' : null}>
                <div class="text" tabindex=${isBoxed ? 0 : null}
                    role=${isBoxed ? 'region' : name === 'stderr' ? 'group' : null}
                    aria-label=${
                        name === 'stderr' ? OUTPUT_WORDS.errors : isBoxed ? OUTPUT_WORDS.printed : null
                    } ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}></div>
                ${
                    isLong &&
                    html`<button class="text-button" onClick=${toggle}>
                    ${
                        isOpen ? OUTPUT_WORDS.showLess : OUTPUT_WORDS.showAllLines(OUTPUT_WORDS.lines(lines))
                    }</button>`
                }
            </div>`;
    }
}

/** Complete text, such as a traceback. @param {{text: string, name: string, id: string}} props */
export const StaticText = ({ text, name, id }) =>
    html`<${Stream} key=${text} pieces=${[text]} count=${1} name=${name} id=${id} />`;

/**
 * @param {HTMLElement} box
 * @param {Line[]} lines
 * @param {number} from the first line that changed, or the last line painted if that comes first
 * @returns {number} the number of lines painted
 */
function paintLines(box, lines, from) {
    // Trailing empty lines are line ends, or remains of a progress bar.
    let count = lines.length;
    while (count > 1 && isBlank(lines[count - 1] ?? '')) count -= 1;
    const blocks = Math.ceil(count / BLOCK);
    while (box.children.length > blocks) box.lastElementChild?.remove();
    // The last block is painted in any case: lines after it may have become blank.
    for (let i = Math.min(Math.floor(Math.max(0, from) / BLOCK), blocks - 1); i < blocks; i += 1) {
        const block = box.children[i] ?? box.appendChild(document.createElement('div'));
        const shown = lines.slice(i * BLOCK, Math.min(count, (i + 1) * BLOCK));
        const height = `auto ${shown.length * LINE_PX}px`;
        // A line end, without which a blank line at the end of a block would have no height.
        if (i < blocks - 1) shown.push('');
        block.replaceChildren(...nodesOfLines(shown));
        if (blocks > 1) {
            block.className = 'block';
            /** @type {HTMLElement} */ (block).style.containIntrinsicHeight = height;
        }
    }
    return count;
}

/** @param {Line} line */
const isBlank = (line) => piecesIn(line).every(({ text, style }) => !style && !text.trim());
