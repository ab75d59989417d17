// @ts-check
// An error: first the message, then the frames. Lines of cells link to their editors, and frames of
// libraries are collapsed.

import { shownAtFirst, taken, withoutColours } from '../text/traceback.js';
import { Component, html } from '../vendor/preact.js';
import { OUTPUT_WORDS } from './output-words.js';
import { nodesOfText } from './styled-text.js';

/** @typedef {import('../shell/protocol.js').RunError} RunError */
/** @typedef {import('../text/traceback.js').Location} Location */
/**
 * @typedef {{error: RunError, count: number | null, goTo: ((cell: number,
 *   line: number) => void) | null}} FailureProps `count`: the number of the cell that failed
 */

/** @extends {Component<FailureProps, {open: Set<number>}>} */
export class ErrorView extends Component {
    /** The hidden frames that the user has expanded, by the index of the first. */
    state = { open: new Set() };

    /** @param {FailureProps} props @param {{open: Set<number>}} state */
    render({ error, count, goTo }, { open }) {
        const { title, frames, after } = taken(error);
        const step = (/** @type {import('../text/traceback.js').Frame} */ one) =>
            html`<${Step} key=${frames.indexOf(one)} frame=${one} count=${count} goTo=${goTo} />`;
        return html`
            <div class="error-view">
                <div class="title">${title}</div>
                ${shownAtFirst(frames, count).map((one) => {
                    if (!('hidden' in one)) return step(one);
                    const at = frames.indexOf(/** @type {any} */ (one.hidden[0]));
                    const isOpen = open.has(at);
                    const others = [...open].filter((other) => other !== at);
                    const toggle = () => this.setState({ open: new Set(isOpen ? others : [...open, at]) });
                    return [
                        html`<button class="text-button" key=${`hidden ${at}`}
                            aria-expanded=${isOpen ? 'true' : 'false'} onClick=${toggle}>
                            ${OUTPUT_WORDS.frames(one, one.hidden.at(-1) === frames.at(-1))}</button>`,
                        isOpen && one.hidden.map(step),
                    ];
                })}
                ${after && html`<${Coloured} text=${after} />`}
            </div>`;
    }
}

/**
 * @param {{frame: import('../text/traceback.js').Frame} & Pick<FailureProps, 'count' | 'goTo'>}
 *   props
 */
const Step = ({ frame: { place, rest, text }, count, goTo }) => html`
    <div class="step">
        ${place && html`<div class="at">${where(place, count, goTo)}${rest}</div>`}
        ${text && html`<${Coloured} text=${text} />`}
    </div>`;

/**
 * @param {NonNullable<Location>} place
 * @param {number | null} count
 * @param {FailureProps['goTo']} goTo
 */
function where({ cell, line }, count, goTo) {
    const text = cell === count ? OUTPUT_WORDS.toOwnLine(line) : OUTPUT_WORDS.toLine(cell, line);
    return goTo
        ? html`<button class="line" title=${OUTPUT_WORDS.goToLine} onClick=${() => goTo(cell, line)}>
            ${text}</button>`
        : text;
}

/** @param {RunError} error @returns {string} the plain text, for copying */
export const errorText = ({ ename, evalue, traceback }) =>
    traceback.length ? withoutColours(traceback.join('\n')) : evalue ? `${ename}: ${evalue}` : ename;

/** Complete text with ANSI colours. @extends {Component<{text: string}, {}>} */
class Coloured extends Component {
    /** @type {HTMLElement | null} */
    place = null;

    componentDidMount() {
        this.place?.replaceChildren(...nodesOfText(this.props.text));
    }

    /** @param {{text: string}} next */
    shouldComponentUpdate(next) {
        if (next.text !== this.props.text) this.place?.replaceChildren(...nodesOfText(next.text));
        return false;
    }

    render() {
        return html`<pre class="ansi-text"
            ref=${(/** @type {HTMLElement | null} */ place) => (this.place = place)}></pre>`;
    }
}
