// @ts-check
// One CodeMirror editor as a component. The Tab key reaches cells, not editors. The editor is
// created when the cell comes near the viewport; until then, plain text of the same size is shown.

import {
    Annotation,
    bracketMatching,
    closeBrackets,
    closeBracketsKeymap,
    Compartment,
    crosshairCursor,
    defaultKeymap,
    drawSelection,
    EditorState,
    EditorView,
    highlightSpecialChars,
    history,
    historyKeymap,
    indentOnInput,
    indentUnit,
    keymap,
    placeholder,
    Prec,
    pythonLanguage,
    rectangularSelection,
    Transaction,
    tooltips,
} from '../vendor/codemirror.js';
import { Component, html } from '../vendor/preact.js';
import { remoteCarets, setCarets } from '../presence/remote-carets.js';
import { changesBetween } from '../text/changes.js';
import { completing, isOfList } from './completion.js';
import { findMarks } from '../find/match-highlights.js';
import { closeTip, inspecting, scrollTip } from './inspection.js';
import { colours, look, magics } from './highlighting.js';
import { whenNear } from '../ui/near-viewport.js';
import { numbered, numbers } from './line-numbers.js';
import { typing } from './typing.js';

/**
 * @typedef {object} EditorProps
 * @property {string} text
 * @property {'code' | 'markdown'} kind
 * @property {boolean} isEditable
 * @property {string} label
 * @property {string} hint
 * @property {(text: string, typed: import('../notebook/drafts.js').Typed) => void} onType called
 *   with the new text and the changes
 * @property {(isHere: boolean) => void} [onCaret] called when the user moves the caret or leaves
 * @property {() => void} onLeave
 * @property {(editor: Editor | null) => void} held passes the editor to its owner
 * @property {(event: KeyboardEvent) => boolean} onKey returns whether the owner handled the key
 * @property {import('./completion.js').Asks} [asks] requests completions and documentation
 */

/** Marks changes that the user did not make in this editor. */
const fromOutside = Annotation.define();
/** The line ends that CodeMirror normalizes to `\n`. */
const LINE_ENDS = /\r\n?/g;

/** @extends {Component<EditorProps, {}>} */
export class Editor extends Component {
    /** @type {HTMLElement | null} */
    element = null;
    /** @type {EditorView | null} */
    view = null;
    editable = new Compartment();
    unnumbered = () => {};
    /** @type {import('../presence/remote-carets.js').RemoteCaret[]} */
    carets = [];

    componentDidMount() {
        if (this.element) whenNear(this.element, () => this.make());
        this.props.held(this);
    }

    shouldComponentUpdate() {
        return false;
    }

    /** @param {EditorProps} next */
    componentWillReceiveProps(next) {
        const before = this.props;
        if (!this.view) {
            if (this.element && before.text !== next.text) this.element.textContent = next.text;
            return;
        }
        const own = this.view.state.doc.toString();
        const text = next.text.replace(LINE_ENDS, '\n');
        if (own !== text) {
            // Replaces only what differs, so that the cursor keeps its position in the text.
            this.view.dispatch({ changes: changesBetween(own, text), annotations: fromOutside.of(true) });
        }
        if (
            before.isEditable !== next.isEditable ||
            before.kind !== next.kind ||
            before.label !== next.label
        ) {
            this.view.dispatch({ effects: this.editable.reconfigure(variable(next)) });
        }
    }

    componentWillUnmount() {
        this.props.held(null);
        this.unnumbered();
        this.view?.destroy();
        this.view = null;
    }

    /** Creates the editor if needed. */
    make() {
        if (this.view || !this.element) return;
        this.element.textContent = '';
        this.view = new EditorView({
            parent: this.element,
            state: EditorState.create({ doc: this.props.text, extensions: this.#extensions() }),
        });
        this.unnumbered = numbered(this.view);
        this.showCarets(this.carets);
    }

    /** @param {'start' | 'end' | 'keep'} [where] where the cursor goes */
    focus(where = 'keep') {
        this.make();
        const { view } = this;
        if (!view) return;
        view.focus();
        if (where !== 'keep')
            view.dispatch({ selection: { anchor: where === 'start' ? 0 : view.state.doc.length } });
    }

    /**
     * Applies a change from the server.
     * @param {import('../text/changes.js').Changes} changes
     * @param {string} before the text that the change applies to
     */
    receive(changes, before) {
        if (this.view?.state.doc.toString() !== before) return;
        const annotations = [
            fromOutside.of(true),
            Transaction.addToHistory.of(false),
            Transaction.remote.of(true),
        ];
        this.view.dispatch({ changes, annotations });
    }

    /**
     * Shows the carets of other people.
     * @param {import('../presence/remote-carets.js').RemoteCaret[]} carets
     */
    showCarets(carets) {
        const isNews = carets.length > 0 || this.carets.length > 0;
        this.carets = carets;
        if (isNews) this.view?.dispatch({ effects: setCarets.of(carets) });
    }

    /** The user's selection. */
    get selection() {
        return this.view ? this.view.state.selection.main : null;
    }

    get text() {
        return this.view ? this.view.state.doc.toString() : this.props.text;
    }

    #extensions() {
        return [
            Prec.highest(keymap.of([{ any: (_view, event) => this.#key(event) }])),
            keymap.of([...closeBracketsKeymap, ...historyKeymap, ...defaultKeymap]),
            history(),
            closeBrackets(),
            bracketMatching(),
            indentOnInput(),
            indentUnit.of('    '),
            highlightSpecialChars(),
            EditorState.allowMultipleSelections.of(true),
            drawSelection(),
            rectangularSelection(),
            crosshairCursor(),
            // Tooltips are outside the cells, which scroll and are greyed out when outdated.
            tooltips({ parent: document.getElementById('tips') ?? document.body }),
            numbers(),
            findMarks,
            this.props.asks ? [completing(this.props.asks), inspecting(this.props.asks)] : [],
            colours,
            look,
            placeholder(this.props.hint),
            this.editable.of(variable(this.props)),
            remoteCarets,
            EditorView.updateListener.of((update) => this.#updated(update)),
            EditorView.domEventHandlers({ blur: () => this.#left(), beforeinput: replaceBySelf }),
        ];
    }

    /** @param {import('../vendor/codemirror.js').ViewUpdate} update */
    #updated(update) {
        const { state, startState, view } = update;
        if (update.focusChanged && !view.hasFocus) this.props.onCaret?.(false);
        if (update.transactions.some((one) => one.annotation(fromOutside))) return;
        if (update.docChanged) {
            const typed = { before: startState.doc.toString(), changes: update.changes };
            this.props.onType(state.doc.toString(), typed);
        }
        const isMoved = update.docChanged || update.selectionSet || update.focusChanged;
        if (isMoved && view.hasFocus && !state.readOnly) this.props.onCaret?.(true);
    }

    /** After a blur: scrolls long lines back, unless only the window lost the focus. */
    #left() {
        this.#scrollBack();
        // The editor may still scroll to the cursor of the last key press; it does so in the
        // next frame.
        requestAnimationFrame(() => requestAnimationFrame(() => this.#scrollBack()));
        this.props.onLeave();
    }

    #scrollBack() {
        if (!this.view || !this.element || document.activeElement === this.view.contentDOM) return;
        this.view.scrollDOM.scrollLeft = 0;
        this.element.scrollLeft = 0;
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { view } = this;
        if (!view || event.isComposing || isOfList(view, event)) return false;
        const isEscape = event.key === 'Escape';
        const { main, ranges } = view.state.selection;
        if (isEscape && ranges.length > 1) view.dispatch({ selection: main });
        else if (!(isEscape && closeTip(view)) && !scrollTip(view, event) && !this.props.onKey(event))
            return false;
        event.preventDefault();
        return true;
    }

    /**
     * Handles a mouse press before the editor exists, in a busy page or after fast scrolling:
     * creates and focuses the editor, so that the next keys are typed here.
     * @param {MouseEvent} event
     */
    #pressed(event) {
        if (this.view || event.button !== 0) return;
        event.preventDefault();
        this.focus();
        this.#putCursor({ x: event.clientX, y: event.clientY });
    }

    /** @param {{x: number, y: number}} at on the screen */
    #putCursor(at) {
        this.view?.dispatch({ selection: { anchor: this.view.posAtCoords(at, false) } });
    }

    render() {
        return html`<div class="editor"
            onMouseDown=${(/** @type {MouseEvent} */ event) => this.#pressed(event)}
            ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
            ${this.props.text}</div>`;
    }
}

/**
 * Replaces a selection with typed text, instead of the browser. Chromium would copy the style of
 * the old text into a `style` attribute, which the page's content security policy blocks with a
 * console error.
 * @param {InputEvent} event
 * @param {EditorView} view
 */
function replaceBySelf(event, view) {
    const { from, to, empty } = view.state.selection.main;
    const text = event.data;
    if (event.inputType !== 'insertText' || !text || event.isComposing || empty) return false;
    const replace = () =>
        view.state.update(view.state.replaceSelection(text), {
            userEvent: 'input.type',
            scrollIntoView: true,
        });
    const isHandled = view.state
        .facet(EditorView.inputHandler)
        .some((handler) => handler(view, from, to, text, replace));
    if (!isHandled) view.dispatch(replace());
    event.preventDefault();
    return true;
}

/** The options of an editor that may change later. @param {EditorProps} props */
function variable({ isEditable, kind, label }) {
    return [
        EditorState.readOnly.of(!isEditable),
        EditorView.editable.of(isEditable),
        EditorView.contentAttributes.of({
            'aria-label': label,
            tabindex: '-1',
            spellcheck: String(kind === 'markdown'),
        }),
        kind === 'code'
            ? [pythonLanguage, magics, typing]
            : [EditorView.lineWrapping, EditorState.languageData.of(() => [MARKDOWN])],
    ];
}

const MARKDOWN = {
    commentTokens: { block: { open: '<!--', close: '-->' } },
    closeBrackets: { brackets: ['(', '[', '{', '`'] },
};
