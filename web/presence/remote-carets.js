// @ts-check
// The carets of other participants in an editor, each with its owner's name and colour.

import {
    Decoration,
    EditorView,
    StateEffect,
    StateField,
    Transaction,
    WidgetType,
} from '../vendor/codemirror.js';

/** @typedef {import('../vendor/codemirror.js').EditorState} EditorState */
/** @typedef {ReturnType<typeof Decoration.set>} DecorationSet */
/**
 * @typedef {object} RemoteCaret
 * @property {string} id of the participant
 * @property {string} called
 * @property {number} colour index of the participant's colour
 * @property {string} draft id of the draft
 * @property {string} said the last message about this caret, as text; changes with each move
 * @property {number} anchor offset in the editor's text
 * @property {number} head
 */

/** @type {import('../vendor/codemirror.js').StateEffectType<RemoteCaret[]>} */
export const setCarets = StateEffect.define();

class CaretWidget extends WidgetType {
    /** @param {RemoteCaret} caret @param {boolean} isTop whether it is in the first line */
    constructor({ called, colour, said }, isTop) {
        super();
        this.called = called;
        this.colour = colour;
        this.said = said;
        this.isTop = isTop;
    }

    /** @param {CaretWidget} other */
    eq(other) {
        return (
            other.called === this.called &&
            other.colour === this.colour &&
            other.said === this.said &&
            other.isTop === this.isTop
        );
    }

    toDOM() {
        const caret = document.createElement('span');
        caret.className = 'remote-caret';
        caret.ariaHidden = 'true';
        caret.dataset.colour = String(this.colour);
        // The style sheet displays the name, because it must not become part of the cell's text.
        caret.dataset.name = this.called;
        caret.toggleAttribute('data-top', this.isTop);
        return caret;
    }
}

/** @param {RemoteCaret[]} carets @param {EditorState} state @returns {DecorationSet} */
function decorations(carets, { doc }) {
    const all = carets.flatMap((one) => {
        const [from, to] = [Math.min(one.anchor, one.head), Math.max(one.anchor, one.head)];
        const attributes = { 'data-colour': String(one.colour) };
        const mark = from < to && Decoration.mark({ class: 'remote-selection', attributes }).range(from, to);
        const widget = new CaretWidget(one, doc.lineAt(one.head).number === 1);
        const caret = Decoration.widget({ widget, side: 1 }).range(one.head);
        return mark ? [mark, caret] : [caret];
    });
    return Decoration.set(all, true);
}

/**
 * The carets after a transaction. Carets move with the text around them. Text inserted exactly at a
 * caret is before the caret if it is remote, and after the caret if it is typed in this editor.
 * @param {RemoteCaret[]} carets @param {Transaction} tr @returns {RemoteCaret[]}
 */
function moved(carets, tr) {
    const side = tr.annotation(Transaction.remote) ? 1 : -1;
    const place = (/** @type {number} */ offset) => tr.changes.mapPos(offset, side);
    let now = carets;
    if (tr.docChanged)
        now = carets.map((one) => ({ ...one, anchor: place(one.anchor), head: place(one.head) }));
    for (const effect of tr.effects) {
        if (!effect.is(setCarets)) continue;
        const before = new Map(now.map((one) => [one.said, one]));
        const { length } = tr.newDoc;
        now = effect.value.map((one) => {
            const { anchor, head } = before.get(one.said) ?? one;
            return { ...one, anchor: Math.min(anchor, length), head: Math.min(head, length) };
        });
    }
    return now;
}

/** @typedef {{carets: RemoteCaret[], shown: DecorationSet}} Shown */
/** @type {StateField<Shown>} */
export const remoteCarets = StateField.define({
    create: () => /** @type {Shown} */ ({ carets: [], shown: Decoration.none }),
    update(value, tr) {
        const carets = moved(value.carets, tr);
        return carets === value.carets ? value : { carets, shown: decorations(carets, tr.state) };
    },
    provide: (own) => EditorView.decorations.from(own, ({ shown }) => shown),
});
