// @ts-check
// Shows Python code in the editor's colours, without creating an editor.

import { codePieces } from '../editor/highlighting.js';
import { html } from '../vendor/preact.js';

/** @param {string} code */
export const highlighted = (code) =>
    codePieces(code).map(({ text, kind }) => (kind ? html`<span data-code=${kind}>${text}</span>` : text));
