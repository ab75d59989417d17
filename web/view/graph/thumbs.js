// @ts-check
// Small pictures of what cells showed. Each is made once, only for what is near the screen, and few are kept.

import { addressOf, pictureOf } from '../../text/mime.js';
import { Component, html } from '../../vendor/preact.js';

/** Sizes in px; a picture is kept twice as sharp, for dense screens. */
const HEIGHT = 22;
const WIDTH = 40;
const KEPT = 300;

/** Address, width and height of a small picture; null when there is none in it. @typedef {{source: string, width: number, height: number} | null} Small */

/** @type {Map<number, Promise<Small>>} */
const made = new Map();

/** @param {import('../../text/mime.js').Picture} picture @returns {Promise<Small>} */
function thumbOf(picture) {
    const known = made.get(picture.key) ?? make(picture).catch(() => null);
    // What was asked for last is let go last.
    made.delete(picture.key);
    made.set(picture.key, known);
    if (made.size > KEPT) made.delete(made.keys().next().value ?? 0);
    return known;
}

/** @param {import('../../text/mime.js').Picture} picture @returns {Promise<Small>} */
async function make(picture) {
    const image = new Image();
    image.src = addressOf(picture);
    await image.decode();
    // A drawing need not have a size of its own.
    const [width, height] = [image.naturalWidth || 300, image.naturalHeight || 150];
    const scale = Math.min(WIDTH / width, HEIGHT / height);
    const canvas = document.createElement('canvas');
    const size = { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) };
    canvas.width = 2 * size.width;
    canvas.height = 2 * size.height;
    const pen = canvas.getContext('2d');
    if (!pen) return null;
    pen.imageSmoothingQuality = 'high';
    pen.drawImage(image, 0, 0, canvas.width, canvas.height);
    return { source: canvas.toDataURL(), ...size };
}

/** @extends {Component<{run: import('../../model.js').Run}, {key: number, thumb: Small}>} */
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
        return thumb && pictureOf(this.props.run.outputs) ? html`<img class="thumb" alt="" src=${thumb.source} width=${thumb.width} height=${thumb.height} />` : null;
    }
}
