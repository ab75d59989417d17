// @ts-check
// Which representation of an output is shown, and how. Pure.

/** @typedef {import('../protocol.js').MimeBundle} MimeBundle */
/** @typedef {{how: 'frame' | 'image' | 'markdown' | 'json' | 'text', mime: string, data: any}} Shown */

/** Richest first, as in other notebooks. */
const ORDER = /** @type {[string, Shown['how']][]} */ ([
    ['text/html', 'frame'],
    ['image/svg+xml', 'frame'],
    ['image/png', 'image'],
    ['image/jpeg', 'image'],
    ['image/gif', 'image'],
    ['image/webp', 'image'],
    ['text/markdown', 'markdown'],
    ['text/latex', 'text'],
    ['application/json', 'json'],
    ['text/plain', 'text'],
]);

/** @param {MimeBundle} bundle @returns {Shown} */
export function choose(bundle) {
    for (const [mime, how] of ORDER) {
        if (bundle[mime] !== undefined) return { how, mime, data: asText(bundle[mime], how) };
    }
    const mime = Object.keys(bundle)[0] ?? 'text/plain';
    return { how: 'text', mime, data: asText(bundle[mime] ?? '', 'json') };
}

/** nbformat allows text as a list of lines. @param {unknown} value @param {Shown['how']} how */
function asText(value, how) {
    if (how === 'json') return typeof value === 'string' ? value : JSON.stringify(value, null, 2);
    return Array.isArray(value) ? value.join('') : String(value);
}

/** The size that an image asks for. @param {MimeBundle} metadata @param {string} mime @returns {{width?: number, height?: number}} */
export function imageSize(metadata, mime) {
    const own = /** @type {any} */ (metadata[mime] ?? metadata);
    const number = (/** @type {unknown} */ value) => (typeof value === 'number' && value > 0 ? value : undefined);
    return { width: number(own.width), height: number(own.height) };
}

const IMAGES = ['image/png', 'image/svg+xml', 'image/jpeg', 'image/webp', 'image/gif'];

/** @typedef {{key: number, mime: string, item: {data: MimeBundle}}} Picture `key` tells it from all others. */

/** The last picture among outputs. @param {import('../model.js').Item[]} outputs @returns {Picture | null} */
export function pictureOf(outputs) {
    for (let i = outputs.length - 1; i >= 0; i -= 1) {
        const item = outputs[i];
        if (item.output_type !== 'display_data' && item.output_type !== 'execute_result') continue;
        const mime = IMAGES.find((one) => item.data[one] !== undefined);
        if (mime) return { key: item.key, mime, item };
    }
    return null;
}

/** As an image's address. @param {Picture} picture */
export function addressOf({ mime, item }) {
    const data = asText(item.data[mime], 'image');
    return mime === 'image/svg+xml' ? `data:${mime},${encodeURIComponent(data)}` : `data:${mime};base64,${data.replaceAll(/\s/g, '')}`;
}
