// @ts-check
// Renders Markdown into the page, sanitized to text with simple structure. This module and its
// libraries are loaded with the first Markdown text.

import { codePieces } from '../editor/highlighting.js';
import { formulaAt } from '../text/formulas.js';
import { isPython } from '../text/python.js';
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

/** @typedef {{python: string}} CodeBlock */

const markdown = new MarkdownIt({ html: true, linkify: true, maxNesting: DEEPEST });
withMath(markdown);
withPython(markdown);
withAlignment(markdown);
/** @typedef {(address: string) => string | null} Pictures addresses of pictures on our server */

/** Those of the text that is being sanitized. @type {Pictures} */
let pictures = () => null;
/** The addresses that `pictures` returned for this text. @type {Set<string>} */
const shown = new Set();

DOMPurify.addHook('uponSanitizeAttribute', (node, data) => {
    if (node.nodeName !== 'IMG' || data.attrName !== 'src') return;
    const address = pictures(data.attrValue);
    if (address === null) return;
    shown.add(address);
    data.attrValue = address;
});
// Links give the target no access to this page, and lead only to web and mail addresses.
DOMPurify.addHook('afterSanitizeAttributes', (node) => {
    // Only embedded pictures and those of our server are shown; a text causes no other request.
    const src = node.getAttribute('src') ?? '';
    if (node.tagName === 'IMG' && !/^data:image\//i.test(src) && !shown.has(src)) node.removeAttribute('src');
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
 * @param {(Formula | CodeBlock)[]} formulas receives the formulas and Python code of the text
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

/**
 * Replaces Python code blocks with placeholders, as `withMath` does for formulas, because
 * sanitizing removes the marks of highlighted code.
 * @param {any} markdown
 */
function withPython(markdown) {
    const { fence } = markdown.renderer.rules;
    markdown.renderer.rules.fence = (/** @type {any[]} */ ...all) => {
        const [tokens, at, , { formulas }] = all;
        const { info, content } = tokens[at];
        if (!isPython(info)) return fence(...all);
        const number = formulas.push({ python: content }) - 1;
        return `<pre><code>${OPEN}${number}${CLOSE}</code></pre>\n`;
    };
}

/**
 * Writes the alignment of a table's columns as `align`. The parser writes it as an inline style,
 * which the page's security policy forbids.
 * @param {any} markdown
 */
function withAlignment(markdown) {
    for (const rule of ['th_open', 'td_open'])
        markdown.renderer.rules[rule] = (/** @type {any[]} */ ...[tokens, at, options, , renderer]) => {
            const token = tokens[at];
            const side = token.attrGet('style')?.replace('text-align:', '');
            token.attrs = side ? [['align', side]] : [];
            return renderer.renderToken(tokens, at, options);
        };
}

/** @param {CodeBlock} block */
function codeNode({ python }) {
    const all = document.createDocumentFragment();
    for (const { text, kind } of codePieces(python)) {
        const span = document.createElement('span');
        if (kind) span.dataset.code = kind;
        span.textContent = text;
        all.append(kind ? span : text);
    }
    return all;
}

/** @param {HTMLElement} element @param {(Formula | CodeBlock)[]} formulas */
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
                if (!formula) return document.createTextNode(part);
                return 'python' in formula ? codeNode(formula) : formulaNode(formula, count++);
            }),
        );
    }
    element.normalize();
}

/**
 * Renders a text into an element.
 * @param {HTMLElement} element
 * @param {string} text
 * @param {Pictures} [more] shows pictures of our server, too
 */
export function paintMarkdown(element, text, more = () => null) {
    if (showsTooLong(element, text)) return;
    /** @type {(Formula | CodeBlock)[]} */
    const formulas = [];
    pictures = more;
    shown.clear();
    element.innerHTML = rendered(text, formulas);
    putFormulas(element, formulas);
}
