// @ts-check
// Highlights the matches of a search in all editors of the page.

import {
    Decoration,
    EditorView,
    RangeSetBuilder,
    StateEffect,
    StateField,
    ViewPlugin,
} from '../vendor/codemirror.js';

/**
 * @typedef {(text: string) => import('./matches.js').Span[] | null} SpansOf The matches in a text;
 *   null if they are not known yet.
 */
/**
 * @typedef {{spansOf: SpansOf | null, at: number | null}} Marks The highlights of one editor. `at`:
 *   the offset of the current match, or null if the current match is not in this editor.
 */

/** @type {import('@codemirror/state').StateEffectType<Marks>} */
const changes = StateEffect.define();
const found = Decoration.mark({ class: 'found' });
const current = Decoration.mark({ class: 'found found-here' });
/** @type {Set<EditorView>} */
const editors = new Set();
/** @type {SpansOf | null} */
let spansOf = null;

/**
 * @param {string} text
 * @param {Marks} marks
 * @returns {import('@codemirror/view').DecorationSet | null} null if the matches are not known yet
 */
function paint(text, marks) {
    const spans = marks.spansOf ? marks.spansOf(text) : [];
    /** @type {RangeSetBuilder<Decoration>} */
    const builder = new RangeSetBuilder();
    for (const { from, to } of spans ?? []) builder.add(from, to, from === marks.at ? current : found);
    return spans && builder.finish();
}

const field = StateField.define({
    create: (state) => ({
        marks: /** @type {Marks} */ ({ spansOf, at: null }),
        painted: paint(state.doc.toString(), { spansOf, at: null }) ?? Decoration.none,
    }),
    update: (before, change) => {
        let { marks } = before;
        for (const effect of change.effects) if (effect.is(changes)) marks = effect.value;
        if (change.docChanged)
            marks = { ...marks, at: marks.at === null ? null : change.changes.mapPos(marks.at) };
        if (marks === before.marks) return before;
        // Until the matches in the new text are known, those in the old one stay.
        const painted = paint(change.newDoc.toString(), marks) ?? before.painted.map(change.changes);
        return { marks, painted };
    },
    provide: (from) => EditorView.decorations.from(from, ({ painted }) => painted),
});

export const findMarks = [
    field,
    ViewPlugin.define((view) => {
        editors.add(view);
        return { destroy: () => void editors.delete(view) };
    }),
];

/**
 * Highlights all matches, and the current match in another colour.
 * @param {SpansOf | null} wanted null: removes all highlights
 * @param {EditorView | null} [here] the editor with the current match
 * @param {number} [at] the offset of the current match
 */
export function mark(wanted, here = null, at) {
    spansOf = wanted;
    for (const view of editors) {
        const marks = { spansOf, at: view === here ? (at ?? null) : null };
        const now = view.state.field(field).marks;
        if (now.spansOf !== marks.spansOf || now.at !== marks.at)
            view.dispatch({ effects: changes.of(marks) });
    }
}
