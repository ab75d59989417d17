// @ts-check
// Interactive outputs of an imported file: HTML, plots, sound. Their scripts run only on request:
// the page shows the plain text of these outputs until the user asks for more.

import { choose } from './mime.js';
import { Component, html } from '../vendor/preact.js';
import { OUTPUT_WORDS } from './output-words.js';
import { StaticText } from './stream.js';

/** Whether the user asked in this tab to show untrusted outputs. */
let isWanted = false;
/** A repaint function for each untrusted output on the page. @type {Set<() => void>} */
const held = new Set();

/**
 * Whether an output waits until the user asks for it.
 * @param {import('../shell/model.js').Run} run
 * @param {import('../shell/model.js').Item} item
 */
export const isUntrusted = (run, item) => run.status === 'imported' && 'data' in item && isFrame(item.data);

/** Whether untrusted outputs are shown as plain text. */
export const isUntrustedHeld = () => !isWanted;

/** @param {import('../shell/protocol.js').MimeBundle} data @returns {boolean} */
function isFrame(data) {
    const { how, data: rest } = choose(data);
    return how === 'frame' || (how === 'widget' && isFrame(rest));
}

/** @extends {Component<{item: any, id: string, shown: () => any}, {}>} */
export class UntrustedOutput extends Component {
    again = () => this.forceUpdate();

    componentDidMount() {
        held.add(this.again);
    }

    componentWillUnmount() {
        held.delete(this.again);
    }

    /** @param {{item: any, id: string, shown: () => any}} props */
    render({ item, id, shown }) {
        if (isWanted) return shown();
        const show = () => {
            isWanted = true;
            for (const again of held) again();
        };
        const text = item.data['text/plain'];
        return html`
            ${
                text !== undefined &&
                html`<${StaticText}
                text=${Array.isArray(text) ? text.join('') : String(text)} name="value" id=${id} />`
            }
            <button class="text-button" title=${OUTPUT_WORDS.heldHint} onClick=${show}>${OUTPUT_WORDS.held}</button>`;
    }
}
