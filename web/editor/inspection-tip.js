// @ts-check
// The content of a documentation tooltip. Everything is inserted as text, never as HTML.

import { EDITOR_WORDS as WORDS } from './editor-words.js';

/** @typedef {import('../shell/protocol.js').Inspection} Inspection */

/**
 * @param {{size: import('./inspection.js').Size, object: Inspection | null}} tip
 * @returns {{dom: HTMLElement, said: string}} the tooltip, and the text for screen readers
 */
export function tipDom({ size, object }) {
    const dom = box('div', 'tip');
    // Focusable, so that keys can scroll a long text.
    Object.assign(dom, { id: 'tip', role: 'tooltip', tabIndex: 0 });
    dom.dataset.size = size;
    // A click in the tooltip must not move the cursor of the editor.
    dom.addEventListener('mousedown', (event) => event.preventDefault());
    if (!object) {
        dom.append(box('p', 'tip-none', WORDS.unknown));
        return { dom, said: WORDS.unknown };
    }
    dom.append(headOf(object));
    const active = object.signature?.parameters[object.signature.active ?? -1];
    const said = WORDS.signatureOf(object.name, active);
    if (size === 'signature') {
        const first = object.doc?.trim().split('\n')[0];
        if (first) dom.append(box('p', 'tip-line', first));
        return { dom, said };
    }
    dom.append(box('p', 'tip-type', [object.type, object.place].filter(Boolean).join(' · ')));
    if (object.repr) dom.append(box('pre', 'tip-repr', object.repr));
    if (object.doc) dom.append(box('pre', 'tip-doc', object.doc.trim()));
    dom.append(box('p', 'tip-hint', size === 'short' ? WORDS.moreHint : WORDS.pinnedHint));
    return { dom, said: [said, object.type, object.doc?.trim().split('\n')[0]].filter(Boolean).join('. ') };
}

/** An object's name and signature. The active parameter is bold. @param {Inspection} object */
function headOf({ name, signature }) {
    const head = box('div', 'tip-head');
    head.append(box('span', 'tip-name', name));
    if (!signature) return head;
    head.append('(');
    signature.parameters.forEach((text, i) => {
        if (i > 0) head.append(', ');
        head.append(i === signature.active ? box('b', 'tip-active', text) : box('span', '', text));
    });
    head.append(signature.returns ? `) → ${signature.returns}` : ')');
    return head;
}

/** @param {string} tag @param {string} className @param {string} [text] */
function box(tag, className, text = '') {
    const made = document.createElement(tag);
    made.className = className;
    made.textContent = text;
    return made;
}
