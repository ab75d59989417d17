// @ts-check
// Syntax highlighting in an editor. The colours are CSS custom properties, so that the light and
// the dark theme share one style.

import {
    Decoration,
    EditorView,
    HighlightStyle,
    highlightTree,
    pythonLanguage,
    RangeSetBuilder,
    StateField,
    syntaxHighlighting,
    tagHighlighter,
    tags,
} from '../vendor/codemirror.js';
import { magicLines } from '../text/python.js';

/** The kinds of tokens. The custom property `--code-KIND` defines the colour of each kind. */
export const CODE_KINDS = Object.freeze([
    { kind: 'keyword', tag: [tags.keyword, tags.operatorKeyword, tags.modifier] },
    { kind: 'string', tag: [tags.string, tags.special(tags.string)] },
    { kind: 'number', tag: [tags.number, tags.bool, tags.null, tags.meta] },
    { kind: 'comment', tag: [tags.comment], fontStyle: 'italic' },
    {
        kind: 'name',
        tag: [
            tags.definition(tags.variableName),
            tags.function(tags.definition(tags.variableName)),
            tags.className,
            tags.definition(tags.className),
        ],
    },
]);

const kinds = tagHighlighter(CODE_KINDS.map(({ kind, tag }) => ({ tag, class: kind })));

/**
 * Splits Python code into pieces with their kinds, without creating an editor.
 * @param {string} code
 * @returns {{text: string, kind: string | null}[]}
 */
export function codePieces(code) {
    const pieces = [];
    let done = 0;
    highlightTree(pythonLanguage.parser.parse(code), kinds, (from, to, kind) => {
        if (from > done) pieces.push({ text: code.slice(done, from), kind: null });
        pieces.push({ text: code.slice(from, to), kind });
        done = to;
    });
    if (done < code.length) pieces.push({ text: code.slice(done), kind: null });
    return pieces;
}

export const colours = syntaxHighlighting(
    HighlightStyle.define([
        ...CODE_KINDS.map(({ kind, tag, ...more }) => ({ tag, color: `var(--code-${kind})`, ...more })),
        { tag: tags.invalid, color: 'var(--bad)' },
    ]),
);

export const look = EditorView.theme({
    '&': { backgroundColor: 'transparent', color: 'var(--ink)', fontSize: 'inherit' },
    '&.cm-focused': { outline: 'none' },
    '.cm-scroller': { fontFamily: 'inherit', lineHeight: 'inherit' },
    '.cm-content': { padding: '0', caretColor: 'var(--accent)' },
    '.cm-line': { padding: '0' },
    '.cm-placeholder': { color: 'var(--faint)' },
    '.cm-cursor': { borderLeftColor: 'var(--accent)', borderLeftWidth: '1.5px' },
    '& > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': { background: 'transparent' },
    '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground': {
        background: 'var(--code-selection)',
    },
    '&.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--mark)' },
    '&.cm-focused .cm-nonmatchingBracket': { backgroundColor: 'var(--bad-soft)', color: 'var(--bad)' },
    '&:not(.cm-focused) .cm-matchingBracket': { backgroundColor: 'transparent' },
    '.cm-gutters': {
        paddingRight: '8px',
        backgroundColor: 'transparent',
        color: 'var(--faint)',
        border: 'none',
        fontVariantNumeric: 'tabular-nums',
    },
    '.cm-lineNumbers .cm-gutterElement': { minWidth: '1.4em', padding: '0 4px 0 0' },
    // Magic lines are IPython syntax. One colour hides the errors of the Python parser there.
    '.cm-line.magic, .cm-line.magic *': { color: 'var(--code-number)', fontStyle: 'normal' },
});

const magicLine = Decoration.line({ class: 'magic' });

/** @param {import('../vendor/codemirror.js').EditorState} state */
function marked(state) {
    /** @type {RangeSetBuilder<Decoration>} */
    const builder = new RangeSetBuilder();
    for (const line of magicLines(state.doc.toString())) {
        const { from } = state.doc.line(line + 1);
        builder.add(from, from, magicLine);
    }
    return builder.finish();
}

/** Marks the lines of a code cell that are magics or shell commands. */
export const magics = StateField.define({
    create: (state) => marked(state),
    update: (marks, change) => (change.docChanged ? marked(change.state) : marks),
    provide: (field) => EditorView.decorations.from(field),
});
