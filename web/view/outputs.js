// @ts-check
// What a run printed and showed, in order, and the question it asks.

import { Component, html, useLayoutEffect, useRef } from '../vendor/preact.js';
import { choose, imageSize } from '../text/mime.js';
import { WORDS } from '../words.js';
import { Frame } from './frame.js';
import { Markdown } from './markdown.js';
import { StaticText, Stream } from './stream.js';

/** @typedef {import('../model.js').Item} Item */

/** @extends {Component<{run: import('../model.js').Run, rev: number, onAnswer: ((text: string) => void) | null}, {}>} */
export class Outputs extends Component {
    /** @param {{run: object, rev: number}} next */
    shouldComponentUpdate(next) {
        return next.run !== this.props.run || next.rev !== this.props.rev;
    }

    render() {
        const { run, onAnswer } = this.props;
        const isSilent = run.outputs.length === 0 && !run.prompt && !run.error;
        if (isSilent) return null;
        return html`
            <div class="outputs">
                ${run.outputs.map((item) => html`<div class="output" key=${item.key}>${shown(item)}</div>`)}
                ${run.error && !run.outputs.some((item) => item.output_type === 'error') && html`<div class="output" key="error"><${Failure} ...${run.error} /></div>`}
                ${run.prompt && html`<${Question} key="prompt" prompt=${run.prompt} onAnswer=${onAnswer} />`}
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

/** @param {{prompt: import('../protocol.js').Prompt, onAnswer: ((text: string) => void) | null}} props */
function Question({ prompt, onAnswer }) {
    const input = useRef(/** @type {HTMLInputElement | null} */ (null));
    useLayoutEffect(() => {
        // The next keystrokes are the answer, unless the user is writing something else already.
        const busy = document.activeElement?.closest('.cell');
        if (onAnswer && (!busy || busy.contains(input.current) || busy.hasAttribute('data-fresh'))) input.current?.focus();
    }, []);
    const send = () => onAnswer?.(input.current?.value ?? '');
    const key = (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== 'Enter') return;
        event.preventDefault();
        send();
    };
    return html`
        <div class="question">
            <label><span class="asked">${prompt.text}</span>
                <input ref=${input} type=${prompt.password ? 'password' : 'text'} autocomplete="off" disabled=${!onAnswer}
                    aria-label=${prompt.text || WORDS.answerHint} onKeyDown=${key} /></label>
            ${onAnswer && html`<button class="button" onClick=${send}>${WORDS.answer}</button>`}
        </div>`;
}
