// @ts-check
// Indents the rows of a wrapped line of code more than its first row. Loaded only if lines wrap.

import { countColumn, Decoration, EditorView, RangeSetBuilder, ViewPlugin } from '../vendor/codemirror.js';

/** How far the rows hang behind the indentation of their line, in columns. */
const HANG = 2;
/** The indentation and the first word of a line. */
const BEGINNING = /^[ \t]*\S*/;

/** Without this, a word that is longer than a row would leave its indentation alone in a row. */
const beginning = Decoration.mark({ class: 'cm-beginning' });

/** @param {EditorView} view */
function marked({ state, visibleRanges }) {
    /** @type {RangeSetBuilder<Decoration>} */
    const builder = new RangeSetBuilder();
    let done = -1;
    for (const { from, to } of visibleRanges)
        for (let at = Math.max(from, done + 1); at <= to; at = done + 1) {
            const line = state.doc.lineAt(at);
            done = line.to;
            const length = BEGINNING.exec(line.text)?.[0].length ?? 0;
            const columns = countColumn(line.text, state.tabSize, line.text.search(/[^ \t]|$/));
            // Tab stops begin where the other rows do.
            const unit = line.text.includes('\t') ? state.tabSize : 1;
            const style = `--hang: ${Math.ceil((columns + HANG) / unit) * unit}; --unit: ${unit}`;
            const attributes = { class: 'cm-hanging', style };
            builder.add(line.from, line.from, Decoration.line({ attributes }));
            if (columns && length) builder.add(line.from, line.from + length, beginning);
        }
    return builder.finish();
}

const marks = ViewPlugin.define(
    (view) => ({
        decorations: marked(view),
        /** @param {import('../vendor/codemirror.js').ViewUpdate} update */
        update(update) {
            if (update.docChanged || update.viewportChanged) this.decorations = marked(update.view);
        },
    }),
    { decorations: (value) => value.decorations },
);

/** On a narrow screen, a deep indentation leaves most of a row to the code. */
const INDENT = 'round(down, min(var(--hang) * 1ch, 30vw), var(--unit) * 1ch)';

export const hangingIndent = [
    marks,
    EditorView.theme({
        '.cm-line.cm-hanging': { paddingLeft: INDENT, textIndent: `calc(-1 * ${INDENT})` },
        '.cm-hanging > *': { textIndent: '0' },
        '.cm-beginning': { wordBreak: 'break-all' },
    }),
];
