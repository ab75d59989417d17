// @ts-check
// Renders Markdown into the page, sanitized to text with simple structure. This module and its
// libraries are loaded with the first Markdown text.

import { formulaAt } from '../text/formulas.js';
import { DOMPurify, MarkdownIt } from '../vendor/markdown.js';
import { formulaNode, showsTooLong } from './formula-view.js';

/** @typedef {import('../text/formulas.js').Formula} Formula */

/**
 * Private-use characters that delimit the number of a formula in the text to be sanitized. They are
 * removed from the user's text.
 */
const [OPEN, CLOSE] = ['\ue000', '\ue001'];
const MARKS = /[\ue000\ue001]/g;

/**
 * The greatest nesting of quotes, lists and emphasis. Limits the parsing time, because each line
 * costs one step per quote around it.
 */
const DEEPEST = 50;

const markdown = new MarkdownIt({ html: true, linkify: true, maxNesting: DEEPEST });
withMath(markdown);
// Links give the target no access to this page, and lead only to web and mail addresses.
DOMPurify.addHook('afterSanitizeAttributes', (node) => {
    // Only embedded pictures are shown; a text never causes a request.
    if (node.tagName === 'IMG' && !/^data:image\//i.test(node.getAttribute('src') ?? ''))
        node.removeAttribute('src');
    if (node.tagName === 'IMG' && !node.hasAttribute('alt')) node.setAttribute('alt', '');
    // The notebook's name is the only level-1 heading.
    if (/^H[1-6]$/.test(node.tagName)) node.setAttribute('aria-level', String(Number(node.tagName[1]) + 1));
    if (node.tagName !== 'A') return;
    if (!/^(https?:|mailto:|#)/i.test(node.getAttribute('href') ?? '')) node.removeAttribute('href');
    node.setAttribute('rel', 'noopener noreferrer');
    node.setAttribute('target', '_blank');
});

/**
 * @param {string} text
 * @param {Formula[]} formulas receives the formulas of the text
 * @returns {string} clean HTML
 */
function rendered(text, formulas) {
    return DOMPurify.sanitize(markdown.render(text.replace(MARKS, ''), { formulas }), {
        FORBID_TAGS: [
            'style',
            'form',
            'input',
            'button',
            'iframe',
            'object',
            'embed',
            'math',
            'svg',
            'video',
            'audio',
            'picture',
            'source',
        ],
        FORBID_ATTR: ['style', 'id', 'name', 'class', 'action', 'formaction', 'srcset'],
        ALLOW_DATA_ATTR: false,
        ALLOW_ARIA_ATTR: false,
    });
}

/**
 * Replaces formulas with placeholders before Markdown is parsed. `putFormulas` inserts them as
 * elements after sanitizing.
 * @param {any} markdown
 */
function withMath(markdown) {
    const keep = (/** @type {any} */ state, /** @type {Formula} */ formula) => {
        const token = state.push('formula', '', 0);
        const number = state.env.formulas.push({ tex: formula.tex, isDisplay: formula.isDisplay }) - 1;
        token.content = `${OPEN}${number}${CLOSE}`;
    };
    markdown.inline.ruler.before(
        'escape',
        'formula',
        (/** @type {any} */ state, /** @type {boolean} */ isSilent) => {
            const found = formulaAt(state.src, state.pos);
            if (!found) return false;
            if (!isSilent) keep(state, found);
            state.pos = found.end;
            return true;
        },
    );
    const block = (
        /** @type {any} */ state,
        /** @type {number} */ from,
        /** @type {number} */ _to,
        /** @type {boolean} */ isSilent,
    ) => {
        const start = state.bMarks[from] + state.tShift[from];
        const found = formulaAt(state.src, start);
        if (!found?.isDisplay) return false;
        let last = from;
        while (last < state.eMarks.length && state.eMarks[last] < found.end) last += 1;
        if (last === state.eMarks.length || state.src.slice(found.end, state.eMarks[last]).trim())
            return false;
        if (isSilent) return true;
        keep(state, found);
        state.line = last + 1;
        return true;
    };
    markdown.block.ruler.before('fence', 'formula', block, {
        alt: ['paragraph', 'reference', 'blockquote', 'list'],
    });
    markdown.renderer.rules.formula = (/** @type {any[]} */ tokens, /** @type {number} */ at) =>
        tokens[at].content;
    // Renders the checkboxes of task lists as characters.
    markdown.core.ruler.after('inline', 'tasks', (/** @type {any} */ state) => {
        state.tokens.forEach((/** @type {any} */ token, /** @type {number} */ at) => {
            const first =
                token.type === 'inline' && state.tokens[at - 2]?.type === 'list_item_open'
                    ? token.children?.[0]
                    : null;
            if (first?.type === 'text')
                first.content = first.content.replace(
                    /^\[([ xX])\] /,
                    (/** @type {string} */ _, /** @type {string} */ mark) => (mark === ' ' ? '☐ ' : '☑ '),
                );
        });
    });
}

/** @param {HTMLElement} element @param {Formula[]} formulas */
function putFormulas(element, formulas) {
    const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
    const found = [];
    for (let node = texts.nextNode(); node; node = texts.nextNode())
        if (node.nodeValue?.includes(OPEN)) found.push(/** @type {Text} */ (node));
    let count = 0;
    for (const node of found) {
        const parts = (node.nodeValue ?? '').split(/\ue000(\d+)\ue001/);
        node.replaceWith(
            ...parts.map((part, i) => {
                const formula = i % 2 ? formulas[Number(part)] : undefined;
                return formula ? formulaNode(formula, count++) : document.createTextNode(part);
            }),
        );
    }
    element.normalize();
}

/** Renders a text into an element. @param {HTMLElement} element @param {string} text */
export function paintMarkdown(element, text) {
    if (showsTooLong(element, text)) return;
    /** @type {Formula[]} */
    const formulas = [];
    element.innerHTML = rendered(text, formulas);
    putFormulas(element, formulas);
}
