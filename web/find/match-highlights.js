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
import { matchesIn } from './matches.js';

/**
 * @typedef {{pattern: RegExp | null, at: number | null}} Marks The highlights of one editor. `at`:
 *   the offset of the current match, or null if the current match is not in this editor.
 */

/** @type {import('@codemirror/state').StateEffectType<Marks>} */
const changes = StateEffect.define();
const found = Decoration.mark({ class: 'found' });
const current = Decoration.mark({ class: 'found found-here' });
/** @type {Set<EditorView>} */
const editors = new Set();
/** @type {RegExp | null} */
let pattern = null;

/** @param {string} text @param {Marks} marks */
function paint(text, marks) {
    /** @type {RangeSetBuilder<Decoration>} */
    const builder = new RangeSetBuilder();
    if (marks.pattern)
        for (const { from, to } of matchesIn(text, marks.pattern))
            builder.add(from, to, from === marks.at ? current : found);
    return builder.finish();
}

const field = StateField.define({
    create: (state) => ({
        marks: /** @type {Marks} */ ({ pattern, at: null }),
        painted: paint(state.doc.toString(), { pattern, at: null }),
    }),
    update: (before, change) => {
        let { marks } = before;
        for (const effect of change.effects) if (effect.is(changes)) marks = effect.value;
        if (change.docChanged)
            marks = { ...marks, at: marks.at === null ? null : change.changes.mapPos(marks.at) };
        return marks === before.marks ? before : { marks, painted: paint(change.newDoc.toString(), marks) };
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
 * Highlights all matches of a pattern, and the current match in another colour.
 * @param {RegExp | null} wanted null: removes all highlights
 * @param {EditorView | null} [here] the editor with the current match
 * @param {number} [at] the offset of the current match
 */
export function mark(wanted, here = null, at) {
    pattern = wanted;
    for (const view of editors) {
        const marks = { pattern, at: view === here ? (at ?? null) : null };
        const now = view.state.field(field).marks;
        if (now.pattern !== marks.pattern || now.at !== marks.at)
            view.dispatch({ effects: changes.of(marks) });
    }
}
