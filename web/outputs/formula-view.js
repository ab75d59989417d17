// @ts-check
// Formulas, set by KaTeX as elements of the page. It, its style and its fonts are fetched when the first one is shown.

import { canBeSet, withFormulas } from '../text/formulas.js';

/** @typedef {import('../text/formulas.js').Formula} Formula */

/** What a formula may be: nothing that leads elsewhere, no size or repetition that fills the page. */
const OPTIONS = Object.freeze({
    throwOnError: false,
    trust: false,
    strict: 'ignore',
    maxSize: 40,
    maxExpand: 1000,
    errorColor: 'var(--bad)',
});

/** How deep the elements of one formula may be nested: 50 boxes in each other. Macros and colours nest without a brace in the source. */
const DEEPEST = 420;
/** How many formulas of one text are set; books have fewer in a chapter. */
const MOST = 1000;
/** Longer texts are shown as they are, in characters, but for pictures in them: their markup alone would keep the page busy for seconds. */
const LONGEST_TEXT = 200_000;
/** How long formulas are set in one picture, in milliseconds: longer where a picture takes long, as each lays out the text around them again. */
const BUDGET_MS = 8;
const LONGEST_BUDGET_MS = 250;

const PICTURE = /data:image\/[a-z0-9.+-]+;base64,[A-Za-z0-9+/=]+/g;

/** Shows a text as it is where it is too long to be anything else; answers whether it did. @param {HTMLElement} element @param {string} text */
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

/** Those that wait to be set. @type {{element: HTMLElement, formula: Formula}[]} */
const waiting = [];
let isAtWork = false;

/** Sets what waits, as much as one picture has time for. @param {typeof import('../vendor/katex.js').katex} katex @param {number} [before] when the last picture was begun */
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

/** @param {typeof import('../vendor/katex.js').katex} katex @param {HTMLElement} element @param {Formula} formula */
function set(katex, element, formula) {
    // Beside the page: what is nested too deep must not be laid out.
    const draft = document.createElement('span');
    try {
        katex.render(formula.tex, draft, { ...OPTIONS, displayMode: formula.isDisplay });
    } catch {
        return showSource(element, formula);
    }
    if (depthOf(draft) > DEEPEST) return showSource(element, formula);
    return element.replaceChildren(...draft.childNodes);
}

/** How deep elements are nested, found without recursion. @param {Element} root */
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
 * A formula as an element; it reads as its source until it is set, and for good where it cannot be set. One too many is only text.
 * @param {Formula} formula @param {number} nth of its text @returns {Node}
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
        // Without a connection they read as their source, until another is shown.
        load().then(
            (katex) => setSome(katex),
            () => (isAtWork = false),
        );
    }
    return element;
}

/** Puts a text with formulas in it, as `text/latex` brings it, into its place. @param {HTMLElement} element @param {string} text */
export function paintLatex(element, text) {
    if (showsTooLong(element, text)) return;
    const parts = withFormulas(text.trim());
    // Without marks around it, all of it is a formula.
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
