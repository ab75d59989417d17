// @ts-check
// A few lines of Python in the editor's colours, without an editor.

import { CODE_KINDS } from '../editor/highlighting.js';
import { highlightTree, pythonLanguage, tagHighlighter } from '../vendor/codemirror.js';
import { html } from '../vendor/preact.js';

const kinds = tagHighlighter(CODE_KINDS.map(({ kind, tag }) => ({ tag, class: kind })));

/** @param {string} code */
export function highlighted(code) {
    const parts = [];
    let done = 0;
    highlightTree(pythonLanguage.parser.parse(code), kinds, (from, to, kind) => {
        parts.push(code.slice(done, from), html`<span data-code=${kind}>${code.slice(from, to)}</span>`);
        done = to;
    });
    parts.push(code.slice(done));
    return parts;
}
