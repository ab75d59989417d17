// @ts-check
// An error: what went wrong first, then where. Lines of cells lead to their editors.

import { taken, withoutColours } from '../text/traceback.js';
import { Component, html } from '../vendor/preact.js';
import { OUTPUT_WORDS } from '../words/outputs.js';
import { nodesOfText } from './text.js';

/** @typedef {import('../protocol.js').RunError} RunError */
/** @typedef {import('../text/traceback.js').Place} Place */
/** @typedef {{error: RunError, count: number | null, goTo: ((cell: number, line: number) => void) | null}} FailureProps `count`: the number of the cell that failed */

/** From so many frames on, only the last ones are shown. */
const MANY = 6;
const LAST = 3;

/** @extends {Component<FailureProps, {showsAll: boolean}>} */
export class Failure extends Component {
    state = { showsAll: false };

    /** @param {FailureProps} props @param {{showsAll: boolean}} state */
    render({ error, count, goTo }, { showsAll }) {
        const { title, frames, after } = taken(error);
        const steps = frames.filter((one) => one.isFrame).length;
        const hidden = showsAll || steps < MANY ? 0 : frames.length - LAST;
        return html`
            <div class="failure">
                <div class="title">${title}</div>
                ${hidden > 0 && html`<button class="quiet" onClick=${() => this.setState({ showsAll: true })}>${OUTPUT_WORDS.allFrames(steps)}</button>`}
                ${frames.slice(hidden).map(({ place, rest, text }, i) => html`
                    <div class="step" key=${hidden + i}>
                        ${place && html`<div class="at">${where(place, count, goTo)}${rest}</div>`}
                        ${text && html`<${Coloured} text=${text} />`}
                    </div>`)}
                ${after && html`<${Coloured} text=${after} />`}
            </div>`;
    }
}

/** @param {NonNullable<Place>} place @param {number | null} count @param {FailureProps['goTo']} goTo */
function where({ cell, line }, count, goTo) {
    const text = cell === count ? OUTPUT_WORDS.toOwnLine(line) : OUTPUT_WORDS.toLine(cell, line);
    return goTo ? html`<button class="line" title=${OUTPUT_WORDS.goToLine} onClick=${() => goTo(cell, line)}>${text}</button>` : text;
}

/** @param {RunError} error @returns {string} as one would paste it */
export const errorText = ({ ename, evalue, traceback }) => (traceback.length ? withoutColours(traceback.join('\n')) : evalue ? `${ename}: ${evalue}` : ename);

/** Text with a terminal's colours that does not grow. @extends {Component<{text: string}, {}>} */
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
        return html`<pre class="coloured" ref=${(/** @type {HTMLElement | null} */ place) => (this.place = place)}></pre>`;
    }
}
