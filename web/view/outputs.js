// @ts-check
// What a run printed and showed, in order, and the question it asks.

import { Component, html } from '../vendor/preact.js';
import { choose, imageSize } from '../text/mime.js';
import { WORDS } from '../words.js';
import { Frame } from './frame.js';
import { Held, isHeld } from './imported.js';
import { Markdown } from './markdown.js';
import { Question } from './question.js';
import { StaticText, Stream } from './stream.js';

/** @typedef {import('../model.js').Item} Item */

/** @extends {Component<{run: import('../model.js').Run, rev: number, acts: import('./keys.js').Acts | null}, {}>} */
export class Outputs extends Component {
    /** @param {{run: object, rev: number}} next */
    shouldComponentUpdate(next) {
        return next.run !== this.props.run || next.rev !== this.props.rev;
    }

    render() {
        const { run, acts } = this.props;
        const isSilent = run.outputs.length === 0 && !run.prompt && !run.error;
        if (isSilent) return null;
        return html`
            <div class="outputs">
                ${run.outputs.map((item) => html`<div class="output" key=${item.key}>${isHeld(run, item) ? html`<${Held} item=${item} shown=${() => shown(item)} />` : shown(item)}</div>`)}
                ${run.error && !run.outputs.some((item) => item.output_type === 'error') && html`<div class="output" key="error"><${Failure} ...${run.error} /></div>`}
                ${run.prompt && html`<${Question} key="prompt" prompt=${run.prompt} exec_id=${run.exec_id} acts=${acts} />`}
            </div>`;
    }
}

/** @param {Item} item */
function shown(item) {
    if (item.output_type === 'stream') return html`<${Stream} pieces=${item.pieces} count=${item.pieces.length} name=${item.name} />`;
    if (item.output_type === 'error') return html`<${Failure} ...${item} />`;
    const { how, mime, data } = choose(item.data);
    if (how === 'frame') return html`<${Frame} content=${data} />`;
    if (how === 'markdown') return html`<${Markdown} text=${data} />`;
    if (how === 'image') {
        const alt = typeof item.data['text/plain'] === 'string' ? item.data['text/plain'] : WORDS.image;
        return html`<img class="image" src=${`data:${mime};base64,${data.replaceAll(/\s/g, '')}`} alt=${alt} ...${imageSize(item.metadata, mime)} />`;
    }
    return html`<${StaticText} text=${data} name="value" />`;
}

/** @param {import('../protocol.js').RunError} error */
function Failure({ ename, evalue, traceback }) {
    const text = traceback.length ? traceback.join('\n') : evalue ? `${ename}: ${evalue}` : ename;
    return html`<div class="failure"><${StaticText} text=${text} name="traceback" /></div>`;
}
