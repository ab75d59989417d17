// @ts-check
// A few lines of Python in the editor's colours, without an editor.

import { html } from '../vendor/preact.js';
import { pythonLanguage } from '../vendor/codemirror.js';

/**
 * What kinds of words are coloured, by their names in the grammar.
 * @type {Record<string, string>}
 */
const KINDS = {
    String: 'string',
    FormatString: 'string',
    ContinuedString: 'string',
    Number: 'number',
    Boolean: 'number',
    None: 'number',
    Comment: 'comment',
};

/** @param {string} code */
export function highlighted(code) {
    const parts = [];
    let done = 0;
    pythonLanguage.parser.parse(code).iterate({
        enter({ name, from, to, node }) {
            // The grammar's keywords are called by what they are.
            const kind =
                KINDS[name] ??
                (/^[a-z]+$/.test(name)
                    ? 'keyword'
                    : name === 'VariableName' && /Definition$/.test(node.parent?.name ?? '')
                      ? 'name'
                      : null);
            if (!kind || from < done) return true;
            parts.push(code.slice(done, from), html`<span data-code=${kind}>${code.slice(from, to)}</span>`);
            done = to;
            return false;
        },
    });
    parts.push(code.slice(done));
    return parts;
}
