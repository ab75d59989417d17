// @ts-check
// Printed text. Painted in blocks of lines that the browser may skip while they are off the screen; only the blocks that
// changed are painted again.

import { Component, html } from '../vendor/preact.js';
import { Terminal } from '../text/terminal.js';
import { OUTPUT_WORDS } from './output-words.js';
import { keep, recall } from './output-settings.js';
import { nodesOfLines } from './styled-text.js';

/** Lines per block: fewer make the browser keep too many boxes, more make the last block slow to repaint. */
const BLOCK = 250;
/** From so many lines on, a text scrolls in a box of its own until all of it is asked for. */
const LONG = 200;
/** How much text is taken at a time, in characters, and for how long in one picture, in milliseconds. */
const SLICE = 32_768;
const BUDGET_MS = 8;
/** Where a picture takes long, because of what is painted again with it, more text is taken for each: at most for so long, in milliseconds. */
const LONGEST_BUDGET_MS = 250;
/** The height of a line in px, for blocks that were never on the screen. */
const LINE_PX = 20;

/** @typedef {import('../text/terminal.js').Piece} Piece */

/** @typedef {{pieces: string[], count: number, name: string, id: string, isGrowing?: boolean}} StreamProps `id`: by which it is remembered that all of it is shown */

/** @extends {Component<StreamProps, {lines: number, isOpen: boolean}>} */
export class Stream extends Component {
    state = { lines: 0, isOpen: recall(`open ${this.props.id}`) === true };
    terminal = new Terminal();
    /** Pieces that were painted, and how much of the next one. */
    painted = 0;
    offset = 0;
    /** When the last picture was begun. */
    began = Infinity;
    /** @type {number | undefined} the picture in which the rest is painted */
    next = undefined;
    /** @type {boolean | undefined} whether more was to come when it was painted last */
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
        // Clearing the screen makes a new list of lines.
        const lines = paintBlocks(box, this.terminal.lines, before === this.terminal.lines ? from : 0);
        const follow = () => {
            if (follows) box.scrollTop = box.scrollHeight;
        };
        if (lines !== this.state.lines && lines > LONG) this.setState({ lines }, follow);
        else follow();
        // Nothing waits: how long the next text is in coming says nothing about pictures.
        if (this.painted === pieces.length) this.began = Infinity;
        else this.next = requestAnimationFrame(() => this.#paint());
    }

    /** Takes as much text as one picture has time for. @param {string[]} pieces @returns {number} the first line that changed */
    #feed(pieces) {
        const now = performance.now();
        const end = now + Math.max(BUDGET_MS, Math.min(LONGEST_BUDGET_MS, (now - this.began) / 2));
        this.began = now;
        let from = Infinity;
        while (this.painted < pieces.length && (from === Infinity || performance.now() < end)) {
            const piece = pieces[this.painted];
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
                <div class="text" tabindex=${isBoxed ? 0 : null} role=${isBoxed ? 'region' : name === 'stderr' ? 'group' : null}
                    aria-label=${name === 'stderr' ? OUTPUT_WORDS.errors : isBoxed ? OUTPUT_WORDS.printed : null} ref=${(/** @type {HTMLElement | null} */ box) => (this.box = box)}></div>
                ${isLong && html`<button class="quiet" onClick=${toggle}>${isOpen ? OUTPUT_WORDS.showLess : OUTPUT_WORDS.showAllLines(OUTPUT_WORDS.lines(lines))}</button>`}
            </div>`;
    }
}

/** Text that is all there, such as a traceback. @param {{text: string, name: string, id: string}} props */
export const StaticText = ({ text, name, id }) =>
    html`<${Stream} key=${text} pieces=${[text]} count=${1} name=${name} id=${id} />`;

/** @param {HTMLElement} box @param {Piece[][]} lines @param {number} from first line that changed @returns {number} how many lines there are */
function paintBlocks(box, lines, from) {
    // Last lines with nothing in them are only ends of lines, or what a progress bar has left.
    let count = lines.length;
    while (count > 1 && lines[count - 1].every((piece) => !piece.style && !piece.text.trim())) count -= 1;
    const blocks = Math.ceil(count / BLOCK);
    while (box.children.length > blocks) box.lastElementChild?.remove();
    for (let i = Math.min(Math.floor(from / BLOCK), box.children.length); i < blocks; i += 1) {
        const block = box.children[i] ?? box.appendChild(document.createElement('div'));
        const part = lines.slice(i * BLOCK, Math.min(count, (i + 1) * BLOCK));
        block.replaceChildren(...nodesOfLines(part));
        if (blocks > 1) {
            block.className = 'block';
            /** @type {HTMLElement} */ (block).style.containIntrinsicHeight =
                `auto ${part.length * LINE_PX}px`;
        }
    }
    return count;
}
