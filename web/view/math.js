// @ts-check
// Formulas, set by KaTeX as elements of the page. It, its style and its fonts are fetched when the first one is shown.

import { withFormulas } from '../text/math.js';

/** @typedef {import('../text/math.js').Formula} Formula */

/** What a formula may be: nothing that leads elsewhere, no size or repetition that fills the page. */
const OPTIONS = Object.freeze({ throwOnError: false, trust: false, strict: 'ignore', maxSize: 40, maxExpand: 1000, errorColor: 'var(--bad)' });

/** @type {Promise<typeof import('../vendor/katex.js').katex> | null} */
let loading = null;

function load() {
    loading ??= Promise.all([import('../vendor/katex.js'), styled()]).then(([{ katex }]) => katex);
    return loading;
}

/** @returns {Promise<void>} */
function styled() {
    const link = document.createElement('link');
    link.rel = 'stylesheet';
    link.href = new URL('../vendor/katex.css', import.meta.url).href;
    return new Promise((done) => {
        link.onload = link.onerror = () => done();
        document.head.append(link);
    });
}

/** A formula as an element; it reads as its source until it is set. @param {Formula} formula @returns {HTMLElement} */
export function formulaElement({ tex, isDisplay }) {
    const place = document.createElement('span');
    place.className = isDisplay ? 'formula display' : 'formula';
    place.textContent = tex;
    load().then((katex) => katex.render(tex, place, { ...OPTIONS, displayMode: isDisplay })).catch(() => {});
    return place;
}

/** Puts a text with formulas in it, as `text/latex` brings it, into its place. @param {HTMLElement} place @param {string} text */
export function paintLatex(place, text) {
    const parts = withFormulas(text.trim());
    // Without marks around it, all of it is a formula.
    const all = parts.every((part) => typeof part === 'string') ? [{ tex: text.trim(), isDisplay: true }] : parts;
    place.replaceChildren(...all.map((part) => (typeof part === 'string' ? document.createTextNode(part) : formulaElement(part))));
}
