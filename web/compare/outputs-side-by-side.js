// @ts-check
// The outputs of two cells, side by side. Images share one scale, so that sizes can be compared.

import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { Outputs } from '../outputs/outputs.js';

/**
 * @extends {Component<{pair: import('./differences.js').OutputPair,
 *   controller: import('../cell/cell-controller.js').CellController}, {}>}
 */
export class OutputsSideBySide extends Component {
    /** @type {HTMLElement | null} */
    element = null;
    fit = () => fit(this.element);

    componentDidMount() {
        if (!this.element) return;
        this.watch = new ResizeObserver(this.fit);
        this.watch.observe(this.element);
        // The load event of an image does not bubble.
        this.element.addEventListener('load', this.fit, true);
    }

    componentWillUnmount() {
        this.watch?.disconnect();
    }

    /**
     * @param {{pair: import('./differences.js').OutputPair,
     *   controller: import('../cell/cell-controller.js').CellController}} props
     */
    render({ pair: { runA, runB, isSame }, controller }) {
        const keep = (/** @type {HTMLElement | null} */ element) => (this.element = element);
        if (isSame && !runB?.outputs.length) return html`<p class="hint">${SAY.noOutput}</p>`;
        const column = (
            /** @type {'a' | 'b'} */ side,
            /** @type {import('../shell/model.js').Run | undefined} */ run,
        ) => html`
            <div class="side-by-side-column" data-side=${side} role="group" aria-label=${SAY.sideName[side]}>
                <span class="letter" aria-hidden="true">${SAY.side[side]}</span>
                ${
                    run?.outputs.length || run?.error
                        ? html`<${Outputs} key=${run.exec_id} run=${run}
                    rev=${run.rev} controller=${controller} mayRun=${false} />`
                        : html`<p class="hint">
                        ${SAY.noOutput}</p>`
                }
            </div>`;
        if (isSame)
            return html`<p class="hint"><span aria-hidden="true">= </span>${SAY.sameOutput}</p>
            <div class="side-by-side" data-one ref=${keep}>${column('b', runB)}</div>`;
        return html`<div class="side-by-side" ref=${keep}>${column('a', runA)}${column('b', runB)}</div>`;
    }
}

/**
 * Scales all images of a pair equally, so that the widest fits its column.
 * @param {HTMLElement | null} element
 */
function fit(element) {
    const images = [...(element?.querySelectorAll('img') ?? [])].filter((image) => image.naturalWidth > 0);
    // The width attribute may differ from the natural width.
    const width = (/** @type {HTMLImageElement} */ image) =>
        Number(image.getAttribute('width')) || image.naturalWidth;
    const scale = Math.min(
        1,
        ...images.map((image) => (image.closest('.output')?.clientWidth ?? 0) / width(image)),
    );
    if (!(scale > 0)) return;
    for (const image of images) image.style.width = `${Math.floor(width(image) * scale)}px`;
}
