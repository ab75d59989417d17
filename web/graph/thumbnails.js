// @ts-check
// Thumbnails of images in cell outputs, made only for rows near the viewport. Recently used
// thumbnails are cached.

import { addressOf, pictureOf } from '../outputs/mime.js';
import { Component, html } from '../vendor/preact.js';

/** The maximum size of a thumbnail in px. Its canvas has twice this size, for dense screens. */
const HEIGHT = 22;
const WIDTH = 40;
/** The maximum number of cached thumbnails. */
const KEPT = 300;
/**
 * The size of the canvas on which lines are made thicker, relative to the thumbnail's canvas. Thin
 * lines would vanish in the thumbnail.
 */
const LARGER = 6;
/** How much thicker lines become on each side, in px of the thumbnail's canvas. */
const THICKER = 0.45;
/** The directions in which copies of the image are shifted. */
const SIDES = [
    [0, 0],
    [1, 0],
    [-1, 0],
    [0, 1],
    [0, -1],
    [0.7, 0.7],
    [-0.7, 0.7],
    [0.7, -0.7],
    [-0.7, -0.7],
];

/**
 * The address, width and height of a thumbnail; null if the thumbnail could not be made.
 * @typedef {{source: string, width: number, height: number} | null} Small
 */

/** @type {Map<number, Promise<Small>>} */
const made = new Map();

/** @param {import('../outputs/mime.js').Picture} picture @returns {Promise<Small>} */
function thumbOf(picture) {
    const known = made.get(picture.key) ?? make(picture).catch(() => null);
    // Move the thumbnail to the end of the map, and evict the first: the least recently used.
    made.delete(picture.key);
    made.set(picture.key, known);
    if (made.size > KEPT) made.delete(made.keys().next().value ?? 0);
    return known;
}

/** @param {import('../outputs/mime.js').Picture} picture @returns {Promise<Small>} */
async function make(picture) {
    const image = new Image();
    image.src = addressOf(picture);
    await image.decode();
    // An SVG image may have no natural size.
    const [width, height] = [image.naturalWidth || 300, image.naturalHeight || 150];
    const scale = Math.min(WIDTH / width, HEIGHT / height);
    const canvas = document.createElement('canvas');
    const size = {
        width: Math.max(1, Math.round(width * scale)),
        height: Math.max(1, Math.round(height * scale)),
    };
    canvas.width = 2 * size.width;
    canvas.height = 2 * size.height;
    const pen = canvas.getContext('2d');
    if (!pen) return null;
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(
        thickened(image, LARGER * canvas.width, LARGER * canvas.height) ?? image,
        0,
        0,
        canvas.width,
        canvas.height,
    );
    return { source: canvas.toDataURL(), ...size };
}

/**
 * Makes lines thicker by drawing shifted copies of the image on top of each other. Each pixel gets
 * the darkest colour of all copies or, on a dark background, the lightest colour.
 * @param {HTMLImageElement} image
 * @param {number} width
 * @param {number} height
 */
function thickened(image, width, height) {
    const canvas = document.createElement('canvas');
    Object.assign(canvas, { width, height });
    const pen = canvas.getContext('2d', { willReadFrequently: true });
    if (!pen) return null;
    pen.imageSmoothingQuality = 'high';
    pen.fillStyle = '#fff';
    pen.fillRect(0, 0, width, height);
    pen.drawImage(image, 0, 0, width, height);
    const [red = 0, green = 0, blue = 0] = pen.getImageData(1, 1, 1, 1).data;
    pen.globalCompositeOperation = red + green + blue < 3 * 128 ? 'lighten' : 'darken';
    for (const [x = 0, y = 0] of SIDES)
        pen.drawImage(image, x * THICKER * LARGER, y * THICKER * LARGER, width, height);
    return canvas;
}

/** @extends {Component<{run: import('../shell/model.js').Run}, {key: number, thumb: Small}>} */
export class Thumb extends Component {
    /** @type {{key: number, thumb: Small}} */
    state = { key: 0, thumb: null };
    isGone = false;

    componentDidMount() {
        this.#find();
    }

    componentDidUpdate() {
        this.#find();
    }

    componentWillUnmount() {
        this.isGone = true;
    }

    async #find() {
        const picture = pictureOf(this.props.run.outputs);
        if (!picture || picture.key === this.state.key) return;
        const thumb = await thumbOf(picture);
        if (!this.isGone && picture.key !== this.state.key) this.setState({ key: picture.key, thumb });
    }

    render() {
        const { thumb } = this.state;
        return thumb && pictureOf(this.props.run.outputs)
            ? html`<img class="thumb" alt="" src=${thumb.source} width=${thumb.width}
                height=${thumb.height} />`
            : null;
    }
}
