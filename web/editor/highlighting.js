// @ts-check
// Syntax highlighting in an editor. Colours are custom properties, so that both themes share one
// style.

import {
    Decoration,
    EditorView,
    HighlightStyle,
    RangeSetBuilder,
    StateField,
    syntaxHighlighting,
    tags,
} from '../vendor/codemirror.js';
import { magicLines } from '../text/python.js';

/** The kinds of tokens. Each has the colour of the custom property `--code-KIND`. */
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
    // Magic lines are IPython's, so a Python parser's errors in them are hidden.
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

/** Marks the magics and shell commands of a code cell. */
export const magics = StateField.define({
    create: (state) => marked(state),
    update: (marks, change) => (change.docChanged ? marked(change.state) : marks),
    provide: (field) => EditorView.decorations.from(field),
});
