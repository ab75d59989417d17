// @ts-check
// The outputs of two cells, side by side. All images have the same scale, so that users can
// compare their sizes.

import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { Outputs } from '../outputs/outputs.js';

/**
 * A row of outputs whose images all have the same scale.
 * @extends {Component<{class: string, children?: any, [more: string]: any}, {}>}
 */
export class EqualScale extends Component {
    /** @type {HTMLElement | null} */
    element = null;
    fit = () => fit(this.element);

    componentDidMount() {
        if (!this.element) return;
        this.watch = new ResizeObserver(this.fit);
        this.watch.observe(this.element);
        // The load event of an image does not bubble, so listen in the capture phase.
        this.element.addEventListener('load', this.fit, true);
    }

    componentWillUnmount() {
        this.watch?.disconnect();
    }

    /** @param {{class: string, children?: any, [more: string]: any}} props */
    render({ children, ...props }) {
        const keep = (/** @type {HTMLElement | null} */ element) => (this.element = element);
        return html`<div ...${props} ref=${keep}>${children}</div>`;
    }
}

/**
 * @param {{pair: import('./differences.js').OutputPair,
 *   controller: import('../cell/cell-controller.js').CellController}} props
 */
export function OutputsSideBySide({ pair: { runA, runB, isSame }, controller }) {
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
                rev=${run.rev} controller=${controller} mayRun=${false} isCopy />`
                    : html`<p class="hint">
                    ${SAY.noOutput}</p>`
            }
        </div>`;
    if (isSame)
        return html`<p class="hint"><span aria-hidden="true">= </span>${SAY.sameOutput}</p>
        <${EqualScale} class="side-by-side" data-one>${column('b', runB)}<//>`;
    return html`<${EqualScale} class="side-by-side">${column('a', runA)}${column('b', runB)}<//>`;
}

/**
 * Scales all images by the same factor, so that each image fits its column. Never enlarges images.
 * @param {HTMLElement | null} element
 */
function fit(element) {
    const images = [...(element?.querySelectorAll('img') ?? [])].filter((image) => image.naturalWidth > 0);
    // An image with a width attribute is shown at that width, not at its natural width.
    const width = (/** @type {HTMLImageElement} */ image) =>
        Number(image.getAttribute('width')) || image.naturalWidth;
    const scale = Math.min(
        1,
        ...images.map((image) => (image.closest('.output')?.clientWidth ?? 0) / width(image)),
    );
    if (!(scale > 0)) return;
    for (const image of images) image.style.width = `${Math.floor(width(image) * scale)}px`;
}
