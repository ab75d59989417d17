// @ts-check
// Markdown in an editor: colours, also of Python code blocks, and lists and quotes that go on with
// Enter. Loaded with the first editor of a text.

import { HighlightStyle, keymap, Prec, syntaxHighlighting } from '../vendor/codemirror.js';
import { Language, pythonLanguage, tags } from '../vendor/codemirror.js';
import {
    deleteMarkupBackward,
    insertNewlineContinueMarkup,
    markdownLanguage,
    parseCode,
} from '../vendor/markdown-editing.js';
import { isPython } from '../text/python.js';

const { parser } = /** @type {{parser: any}} */ (markdownLanguage);

const language = new Language(
    markdownLanguage.data,
    parser.configure(parseCode({ codeParser: (info) => (isPython(info) ? pythonLanguage.parser : null) })),
    [],
    'markdown',
);

const colours = HighlightStyle.define([
    { tag: tags.heading, fontWeight: '700' },
    { tag: tags.strong, fontWeight: '700' },
    { tag: tags.emphasis, fontStyle: 'italic' },
    { tag: tags.strikethrough, textDecoration: 'line-through' },
    { tag: [tags.link, tags.url], color: 'var(--accent)' },
    { tag: tags.monospace, color: 'var(--code-string)' },
    { tag: [tags.quote, tags.processingInstruction, tags.contentSeparator], color: 'var(--soft)' },
]);

export const markdownEditing = [
    language,
    syntaxHighlighting(colours),
    Prec.high(
        keymap.of([
            { key: 'Enter', run: insertNewlineContinueMarkup },
            { key: 'Backspace', run: deleteMarkupBackward },
        ]),
    ),
];
