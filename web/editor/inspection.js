// @ts-check
// Documentation tooltips. The first Shift-Tab shows a short documentation, which closes when the
// user types. The second shows the whole documentation, which stays open. While the user types
// arguments, a tooltip shows the signature.

import {
    closeCompletion,
    EditorView,
    showTooltip,
    StateEffect,
    StateField,
    ViewPlugin,
} from '../vendor/codemirror.js';
import { callAt } from '../text/python.js';
import { loadPart } from '../shell/lazy-parts.js';

/** @typedef {import('./completion.js').Asks} Asks */
/** @typedef {import('../shell/protocol.js').Inspection} Inspection */
/** @typedef {'signature' | 'short' | 'whole'} Size `whole` stays open until the user closes it. */
/**
 * @typedef {{pos: number, size: Size, object: Inspection | null, call: number | null,
 *   create: () => import('@codemirror/view').TooltipView}} Tip `call`: the offset of the call's
 *   opening bracket, for a tooltip of size `signature`
 */

/** How long the user must pause typing before the editor requests a signature, in milliseconds. */
const PAUSE_MS = 120;

/** @type {import('@codemirror/state').StateEffectType<Tip | null>} */
const shows = StateEffect.define();

const tipField = StateField.define({
    create: () => /** @type {Tip | null} */ (null),
    update: (tip, change) => {
        for (const effect of change.effects) if (effect.is(shows)) return effect.value;
        if (!tip || (!change.docChanged && !change.selection)) return tip;
        if (tip.size === 'short') return null;
        const moved = {
            ...tip,
            pos: change.changes.mapPos(tip.pos),
            call: tip.call === null ? null : change.changes.mapPos(tip.call),
        };
        const isLeft =
            tip.size === 'signature' &&
            callAt(change.newDoc.toString(), change.newSelection.main.head)?.from !== moved.call;
        return isLeft ? null : moved;
    },
    provide: (field) => [
        showTooltip.from(
            field,
            (tip) =>
                tip && {
                    pos: tip.pos,
                    above: tip.size === 'signature',
                    strictSide: false,
                    create: tip.create,
                },
        ),
        EditorView.contentAttributes.compute(
            [field],
            (state) =>
                /** @type {Record<string, string>} */ (
                    state.field(field) ? { 'aria-describedby': 'tip' } : {}
                ),
        ),
    ],
});

/** @type {WeakMap<EditorView, Asks>} */
const asksOf = new WeakMap();

/** @param {Asks} asks */
export const inspecting = (asks) => [
    tipField,
    ViewPlugin.define((view) => new Signatures(view, asks)),
    EditorView.domEventHandlers({ blur: (_event, view) => void closeTip(view) }),
];

/** Requests the signature of a call while the user types its arguments. */
class Signatures {
    /** @param {EditorView} view @param {Asks} asks */
    constructor(view, asks) {
        this.view = view;
        this.asks = asks;
        asksOf.set(view, asks);
        /** The last request: offset of the bracket, index of the argument, and keyword. */
        this.asked = '';
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        this.timer = undefined;
    }

    /** @param {import('@codemirror/view').ViewUpdate} update */
    update({ docChanged, selectionSet, state, transactions }) {
        if (!docChanged && !selectionSet) return;
        const { head, empty } = state.selection.main;
        const isShown = state.field(tipField)?.size === 'signature';
        const isTyped = transactions.some((one) => one.isUserEvent('input'));
        const begins = isTyped && empty && '(,'.includes(state.doc.sliceString(head - 1, head) || ' ');
        if (!isShown) this.asked = '';
        // Typing an argument requests nothing, unless a request is pending or a signature is shown.
        if (!begins && !isShown && !this.timer) return;
        const call = callAt(state.doc.toString(), head);
        const what = call ? `${call.from} ${call.argument} ${call.keyword}` : '';
        if (!call) this.#wait(null);
        else if ((begins || what !== this.asked) && this.asks.isQuick()) this.#wait(() => this.#ask(what));
    }

    /** @param {(() => void) | null} what */
    #wait(what) {
        clearTimeout(this.timer);
        this.timer = what ? setTimeout(() => ((this.timer = undefined), what()), PAUSE_MS) : undefined;
    }

    /** @param {string} what */
    async #ask(what) {
        this.asked = what;
        const { state } = this.view;
        const object = await this.asks.inspect(state.doc.toString(), state.selection.main.head);
        const now = this.view.state;
        const call = callAt(now.doc.toString(), now.selection.main.head);
        const isAsIs =
            call !== null && `${call.from} ${call.argument} ${call.keyword}` === what && this.view.hasFocus;
        if (!isAsIs) return;
        if (object?.signature)
            void show(this.view, { pos: call.from, size: 'signature', object, call: call.from });
        else if (now.field(tipField)?.size === 'signature' && object === null) closeTip(this.view);
    }

    destroy() {
        clearTimeout(this.timer);
    }
}

/** @param {EditorView} view @param {Omit<Tip, 'create'>} tip */
async function show(view, tip) {
    const { doc } = view.state;
    const part = await loadPart('inspectionTip').catch(() => null);
    if (!part || !view.state.doc.eq(doc)) return;
    // A signature, which nobody requested, replaces no documentation.
    const shown = view.state.field(tipField)?.size;
    if (tip.size === 'signature' && (shown === 'short' || shown === 'whole')) return;
    const { dom, said } = part.tipDom(tip);
    // The list of completions makes room for a signature; it closes when documentation opens.
    const create = () => ({ dom, overlap: tip.size !== 'signature' });
    view.dispatch({ effects: [shows.of({ ...tip, create }), EditorView.announce.of(said)] });
}

/**
 * Handles Shift-Tab. The first press shows a short documentation of the object at the cursor, the
 * second press the whole documentation, and the third press closes the tooltip.
 * @param {EditorView} view
 */
export function inspectHere(view) {
    const tip = view.state.field(tipField);
    closeCompletion(view);
    if (tip?.size === 'whole') return closeTip(view);
    if (tip?.size === 'short') void show(view, { ...tip, size: 'whole' });
    else void ask(view);
    return true;
}

/** @param {EditorView} view */
async function ask(view) {
    const { doc } = view.state;
    const { head } = view.state.selection.main;
    const object = await asksOf.get(view)?.inspect(doc.toString(), head);
    const isAsIs = view.hasFocus && view.state.doc.eq(doc) && view.state.selection.main.head === head;
    if (object === undefined || !isAsIs) return;
    const pos = view.state.wordAt(head)?.from ?? head;
    void show(view, { pos, size: 'short', object, call: null });
}

/** @param {EditorView} view @returns {boolean} whether a tooltip was open */
export function closeTip(view) {
    if (!view.state.field(tipField, false)) return false;
    view.dispatch({ effects: shows.of(null) });
    return true;
}

/**
 * Scrolls the tooltip on PageUp and PageDown.
 * @param {EditorView} view
 * @param {KeyboardEvent} event
 * @returns {boolean} whether the key was handled
 */
export function scrollTip(view, { key }) {
    const tip = view.state.field(tipField, false);
    if (!tip || tip.size === 'signature' || !['PageUp', 'PageDown'].includes(key)) return false;
    const box = document.getElementById('tip');
    box?.scrollBy({ top: (key === 'PageDown' ? 0.8 : -0.8) * box.clientHeight });
    return box !== null;
}
