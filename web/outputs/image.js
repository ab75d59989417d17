// @ts-check
// An image output: resizable by pointer or keys; a click shows it at full size.

import { Component, html } from '../vendor/preact.js';
import { withPart } from '../shell/lazy-parts.js';
import { OUTPUT_WORDS } from './output-words.js';
import { keep, recall } from './output-settings.js';

/** The least width, and the step of an arrow key, in px. */
const NARROWEST = 40;
const STEP = 20;

/**
 * @typedef {{src: string, alt: string, id: string, page: import('../notebook/page.js').Page,
 *   width?: number, height?: number}} PictureProps `id`: the storage key of the width
 */

/** @extends {Component<PictureProps, {width: number | null}>} */
export class ImageOutput extends Component {
    state = { width: /** @type {number | null} */ (recall(`width ${this.props.id}`) ?? null) };
    /** @type {HTMLImageElement | null} */
    image = null;

    /** @param {number | null} wish in px; null: the natural width */
    #resize(wish) {
        const most = this.image?.closest('.output')?.clientWidth ?? Infinity;
        const width = wish === null ? null : Math.round(Math.min(most, Math.max(NARROWEST, wish)));
        this.setState({ width });
        keep(`width ${this.props.id}`, width ?? undefined);
    }

    /** @param {PointerEvent} event */
    #drag(event) {
        const { image } = this;
        const handle = /** @type {HTMLElement} */ (event.currentTarget);
        if (!image || event.button !== 0) return;
        event.preventDefault();
        handle.focus();
        handle.setPointerCapture(event.pointerId);
        const [from, width] = [event.clientX, image.clientWidth];
        handle.onpointermove = ({ clientX }) => this.#resize(width + clientX - from);
        handle.onpointerup = handle.onpointercancel = () =>
            (handle.onpointermove = handle.onpointerup = handle.onpointercancel = null);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const now = this.image?.clientWidth ?? 0;
        const wish = { ArrowLeft: now - STEP, ArrowRight: now + STEP, Home: null, End: Infinity }[event.key];
        if (wish === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        event.stopPropagation();
        this.#resize(wish);
    }

    #enlarge() {
        const { page, src, alt } = this.props;
        void withPart('imageActions', page, ({ enlarge }) => enlarge(src, alt));
    }

    /** @param {PictureProps} props @param {{width: number | null}} state */
    render({ src, alt, width: own, height }, { width }) {
        // An SVG with an aspect ratio but no size would shrink to nothing: give it the browsers'
        // default width.
        const now = width ?? this.image?.clientWidth ?? own ?? 0;
        return html`
            <div class="picture" data-sized=${width === null ? null : ''}
                style=${width === null ? null : { width: `${width}px` }}>
                <button class="view" title=${OUTPUT_WORDS.enlarge}
                    aria-label=${`${alt}. ${OUTPUT_WORDS.enlarge}`} onClick=${() => this.#enlarge()}>
                    <img class="image" src=${src} alt=${alt} width=${own} height=${height}
                        onLoad=${(/** @type {{currentTarget: HTMLImageElement}} */ { currentTarget }) =>
                            !own && ((currentTarget.width = currentTarget.naturalWidth))}
                            ref=${(/** @type {HTMLImageElement | null} */ image) =>
                                (this.image = image)} /></button>
                <div class="handle" role="slider" tabindex="0" aria-label=${OUTPUT_WORDS.resize}
                    title=${OUTPUT_WORDS.resize} aria-orientation="horizontal" aria-valuemin=${NARROWEST}
                    aria-valuemax="4000" aria-valuenow=${now}
                    onPointerDown=${(/** @type {PointerEvent} */ event) => this.#drag(event)}
                    onDblClick=${() => this.#resize(null)}
                    onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}></div>
            </div>`;
    }
}
