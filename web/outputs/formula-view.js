// @ts-check
// Formulas, rendered by KaTeX into the page. KaTeX, its style sheet and its fonts are loaded with
// the first formula.

import { canBeSet, withFormulas } from '../text/formulas.js';

/** @typedef {import('../text/formulas.js').Formula} Formula */

/** KaTeX options that forbid links, and sizes and repetitions that would fill the page. */
const OPTIONS = Object.freeze({
    throwOnError: false,
    trust: false,
    strict: 'ignore',
    maxSize: 40,
    maxExpand: 1000,
    errorColor: 'var(--bad)',
});

/**
 * The greatest nesting of elements in a rendered formula: that of 50 nested boxes. Checked after
 * rendering, because macros and colours nest without braces in the source.
 */
const DEEPEST = 420;
/** The most formulas rendered in one text; a book chapter has fewer. */
const MOST = 1000;
/**
 * Longer texts are shown as source, because parsing them would block the page for seconds. In
 * characters, not counting embedded images.
 */
const LONGEST_TEXT = 100_000;
/**
 * The time per frame for rendering formulas, in milliseconds. If frames take long, rendering may
 * take half of the last frame's time, up to `LONGEST_BUDGET_MS`, because each frame lays out the
 * text again.
 */
const BUDGET_MS = 8;
const LONGEST_BUDGET_MS = 250;

const PICTURE = /data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+/g;

/**
 * Shows the text as source if it is too long. Returns whether it is.
 * @param {HTMLElement} element
 * @param {string} text
 */
export function showsTooLong(element, text) {
    const isTooLong = text.length > LONGEST_TEXT && text.replace(PICTURE, '').length > LONGEST_TEXT;
    element.toggleAttribute('data-source', isTooLong);
    if (isTooLong) element.textContent = text;
    return isTooLong;
}

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

/** Formulas that wait to be rendered. @type {{element: HTMLElement, formula: Formula}[]} */
const waiting = [];
let isAtWork = false;

/**
 * Renders waiting formulas within the time of one frame.
 * @param {typeof import('../vendor/katex.js').katex} katex
 * @param {number} [before] when the last frame began
 */
function setSome(katex, before = Infinity) {
    const now = performance.now();
    const end = now + Math.max(BUDGET_MS, Math.min(LONGEST_BUDGET_MS, (now - before) / 2));
    do {
        const next = waiting.shift();
        if (next) set(katex, next.element, next.formula);
    } while (waiting.length > 0 && performance.now() < end);
    isAtWork = waiting.length > 0;
    if (isAtWork) requestAnimationFrame(() => setSome(katex, now));
}

/**
 * @param {typeof import('../vendor/katex.js').katex} katex
 * @param {HTMLElement} element
 * @param {Formula} formula
 */
function set(katex, element, formula) {
    // Render outside the document first: the browser must not lay out deeply nested formulas.
    const draft = document.createElement('span');
    try {
        katex.render(formula.tex, draft, { ...OPTIONS, displayMode: formula.isDisplay });
    } catch {
        return showSource(element, formula);
    }
    if (depthOf(draft) > DEEPEST) return showSource(element, formula);
    return element.replaceChildren(...draft.childNodes);
}

/** The nesting depth of elements, without recursion. @param {Element} root */
function depthOf(root) {
    let [depth, deepest] = [0, 0];
    for (let at = /** @type {Element | null} */ (root); at; ) {
        deepest = Math.max(deepest, depth);
        if (at.firstElementChild) {
            at = at.firstElementChild;
            depth += 1;
            continue;
        }
        while (at && at !== root && !at.nextElementSibling) {
            at = at.parentElement;
            depth -= 1;
        }
        at = at && at !== root ? at.nextElementSibling : null;
    }
    return deepest;
}

/** @param {HTMLElement} element @param {Formula} formula */
function showSource(element, formula) {
    element.dataset.source = '';
    element.textContent = sourceOf(formula);
}

/** @param {Formula} formula */
const sourceOf = ({ tex, isDisplay }) => (isDisplay ? `$$${tex}$$` : `$${tex}$`);

/**
 * An element that shows the source of a formula until it is rendered, or permanently if rendering
 * is impossible. For formulas beyond `MOST`, a text node with the source.
 * @param {Formula} formula
 * @param {number} nth the index of the formula in its text
 * @returns {Node}
 */
export function formulaNode(formula, nth) {
    if (nth >= MOST) return document.createTextNode(sourceOf(formula));
    const element = document.createElement('span');
    element.className = formula.isDisplay ? 'formula display' : 'formula';
    element.textContent = formula.tex;
    if (!canBeSet(formula.tex)) {
        showSource(element, formula);
        return element;
    }
    waiting.push({ element, formula });
    if (!isAtWork) {
        isAtWork = true;
        // If loading fails, the source stays visible until another formula starts loading again.
        load().then(
            (katex) => setSome(katex),
            () => (isAtWork = false),
        );
    }
    return element;
}

/** Renders `text/latex` into an element. @param {HTMLElement} element @param {string} text */
export function paintLatex(element, text) {
    if (showsTooLong(element, text)) return;
    const parts = withFormulas(text.trim());
    // Without delimiters, the whole text is one formula.
    const all = parts.every((part) => typeof part === 'string')
        ? [{ tex: text.trim(), isDisplay: true }]
        : parts;
    let count = 0;
    element.replaceChildren(
        ...all.map((part) =>
            typeof part === 'string' ? document.createTextNode(part) : formulaNode(part, (count += 1) - 1),
        ),
    );
    element.normalize();
}
