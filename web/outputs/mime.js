// @ts-check
// Which representation of an output is shown, and how. Pure.

import { plotlyHtml, vegaHtml } from './libraries.js';

/** @typedef {import('../shell/protocol.js').MimeBundle} MimeBundle */
/** @typedef {'frame' | 'image' | 'markdown' | 'latex' | 'json' | 'file' | 'widget' | 'text'} How */
/** @typedef {{how: How, mime: string, data: any}} Shown */

const WIDGET = 'application/vnd.jupyter.widget-view+json';
/**
 * Drops characters that are not base64, so that the data is safe to embed in HTML.
 * @param {string} data
 */
const plainBase64 = (data) => data.replaceAll(/[^\w+/=]/g, '');

/**
 * The representations, richest first, as in other notebooks. The functions convert to formats that
 * the page can show.
 */
const ORDER = /** @type {[RegExp, How, ((data: any, mime: string) => string)?][]} */ ([
    [/^application\/vnd\.plotly\.v1\+json$/, 'frame', plotlyHtml],
    [
        /^application\/vnd\.vega(lite)?\.v\d+[+.]json$/,
        'frame',
        (data, mime) => vegaHtml(data, mime.includes('vegalite')),
    ],
    [/^text\/html$/, 'frame'],
    [/^text\/markdown$/, 'markdown'],
    [/^text\/latex$/, 'latex'],
    [/^image\/svg\+xml$/, 'image'],
    [/^image\/(?:png|jpeg|gif|webp|avif|bmp)$/, 'image'],
    [/^application\/json$/, 'json'],
    [
        /^application\/javascript$|^text\/javascript$/,
        'frame',
        (data) => `<script>${asText(data).replaceAll(/<\/(script)/gi, '<\\/$1')}</script>`,
    ],
    [
        /^(audio|video)\/[\w.+-]+$/,
        'frame',
        (data, mime) => {
            const [tag] = mime.split('/');
            return `<${tag} controls src="data:${mime};base64,${plainBase64(asText(data))}"></${tag}>`;
        },
    ],
    [/^(?:application\/(?!vnd\..*json$)|image\/|font\/|model\/)/, 'file'],
    [/^text\/plain$/, 'text'],
    [/^text\//, 'text'],
]);

/** @param {MimeBundle} bundle @returns {Shown} */
export function choose(bundle) {
    const mimes = Object.keys(bundle);
    if (mimes.includes(WIDGET)) {
        const { [WIDGET]: view, ...rest } = bundle;
        return { how: 'widget', mime: WIDGET, data: Object.keys(rest).length ? rest : { 'text/plain': '' } };
    }
    for (const [pattern, how, make] of ORDER) {
        const mime = mimes.find((one) => pattern.test(one));
        if (mime === undefined || (how === 'file' && typeof bundle[mime] !== 'string')) continue;
        return {
            how,
            mime,
            data: make ? make(bundle[mime], mime) : how === 'json' ? bundle[mime] : asText(bundle[mime]),
        };
    }
    const mime = mimes[0] ?? 'text/plain';
    return mime in bundle ? { how: 'json', mime, data: bundle[mime] } : { how: 'text', mime, data: '' };
}

/**
 * The id of the model that a widget's output shows.
 * @param {MimeBundle} bundle
 * @returns {string}
 */
export const modelOf = (bundle) =>
    String(/** @type {{model_id?: unknown} | undefined} */ (bundle[WIDGET])?.model_id ?? '');

/** nbformat allows text as a list of lines. @param {unknown} value */
function asText(value) {
    if (Array.isArray(value)) return value.join('');
    return typeof value === 'object' && value !== null ? JSON.stringify(value, null, 2) : String(value);
}

/**
 * A data address of an image. An SVG shown as an image runs no scripts and loads nothing.
 * @param {string} mime
 * @param {string} data
 */
export function imageAddress(mime, data) {
    return mime === 'image/svg+xml'
        ? `data:${mime},${encodeURIComponent(withNamespace(data))}`
        : `data:${mime};base64,${data.replaceAll(/\s/g, '')}`;
}

/** An SVG needs its namespace to be shown as an image. @param {string} svg */
function withNamespace(svg) {
    return /<svg[^>]*\sxmlns=/.test(svg)
        ? svg
        : svg.replace(/<svg\b/, '<svg xmlns="http://www.w3.org/2000/svg"');
}

/**
 * The size that an image requests, in px.
 * @param {MimeBundle} metadata
 * @param {string} mime
 * @returns {{width?: number, height?: number}}
 */
export function imageSize(metadata, mime) {
    const own = /** @type {any} */ (metadata[mime] ?? metadata);
    const number = (/** @type {unknown} */ value) =>
        typeof value === 'number' && value > 0 ? value : undefined;
    return { width: number(own.width), height: number(own.height) };
}

/** The file extension of a MIME type. @param {string} mime */
export const endingOf = (mime) =>
    ({ 'image/jpeg': 'jpg', 'image/svg+xml': 'svg', 'application/octet-stream': 'bin' })[mime] ??
    mime
        .replace(/^.*[/.]/, '')
        .replace(/\+.*$/, '')
        .slice(0, 8);

/**
 * The bytes of a representation: nbformat encodes them in base64, except for text.
 * @param {string} mime
 * @param {string} data
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function asBytes(mime, data) {
    if (/^text\/|[+/](xml|json|javascript)$/.test(mime)) return new TextEncoder().encode(data);
    try {
        return Uint8Array.from(atob(data.replaceAll(/\s/g, '')), (one) => one.charCodeAt(0));
    } catch {
        return new TextEncoder().encode(data);
    }
}

const IMAGES = ['image/png', 'image/svg+xml', 'image/jpeg', 'image/webp', 'image/gif'];

/**
 * @typedef {{key: number, mime: string, item: {data: MimeBundle}}} Picture `key`: unique per
 *   output.
 */

/**
 * The last picture among outputs.
 * @param {import('../shell/model.js').Item[]} outputs
 * @returns {Picture | null}
 */
export function pictureOf(outputs) {
    for (let i = outputs.length - 1; i >= 0; i -= 1) {
        const item = outputs[i];
        if (item?.output_type !== 'display_data' && item?.output_type !== 'execute_result') continue;
        const mime = IMAGES.find((one) => item.data[one] !== undefined);
        if (mime) return { key: item.key, mime, item };
    }
    return null;
}

/** The data address of a picture. @param {Picture} picture */
export const addressOf = ({ mime, item }) => imageAddress(mime, asText(item.data[mime]));
