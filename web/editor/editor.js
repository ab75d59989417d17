// @ts-check
// A component with one CodeMirror editor. The component creates the editor when the cell comes into
// sight, or is near that and the browser is idle. Before that it shows plain text of the same size.
// Tab moves the focus from cell to cell and skips editors.

import {
    Annotation,
    bracketMatching,
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
import { loadPart } from '../shell/lazy-parts.js';
import { whenIdle } from '../ui/idle.js';
import { whenNear } from '../ui/near-viewport.js';
import { onSettings, settings } from '../settings/settings.js';
import { settingExtensions } from './editor-settings.js';
import { stateWithHistory } from './typing-history.js';
import { typing } from './typing.js';

/**
 * @typedef {object} EditorProps
 * @property {string} text
 * @property {import('../shell/protocol.js').Draft['kind']} kind
 * @property {boolean} isEditable
 * @property {string} [historyKey] under which the tab keeps the undo history across a reload
 * @property {boolean} [isTabStop] whether Tab reaches the editor; in a cell it reaches the cell
 * @property {string} label
 * @property {string} hint
 * @property {(text: string, typed: import('../notebook/drafts.js').Typed) => void} onType called
 *   with the new text and the changes
 * @property {(isHere: boolean) => void} [onCaret] called with true when the user moves the caret,
 *   and with false when the editor loses the focus
 * @property {() => void} onLeave called when the editor loses the focus
 * @property {(editor: Editor | null) => void} held called with the component after it is mounted,
 *   and with null before it is unmounted
 * @property {(files: File[]) => void} [onPictures] called with the pictures that were pasted into a
 *   text
 * @property {(event: KeyboardEvent) => boolean} onKey returns whether it handled the key
 * @property {import('./completion.js').Asks} [asks] requests completions and documentation
 */

/** The extensions for Markdown; empty until they are loaded. @type {any[]} */
let markdownEditing = [];

/**
 * Makes the extension for the keys of vim; null until vim is loaded.
 * @type {((onKey: (event: KeyboardEvent) => boolean) => any) | null}
 */
let vimKeys = null;

/** Marks transactions that do not come from the user of this editor. */
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
    settings = new Compartment();
    forgetSettings = () => {};
    /** @type {import('../presence/remote-carets.js').RemoteCaret[]} */
    carets = [];
    /** Marks the problems of the code. @type {((view: EditorView) => void) | null} */
    marks = null;

    componentDidMount() {
        if (this.element)
            whenNear(this.element, (isInSight) => (isInSight ? this.make() : whenIdle(() => this.make())));
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
            // Replace only the text that differs, so that the cursor keeps its position.
            this.view.dispatch({ changes: changesBetween(own, text), annotations: fromOutside.of(true) });
        }
        if (
            before.isEditable !== next.isEditable ||
            before.kind !== next.kind ||
            before.label !== next.label
        ) {
            const effects = [this.editable.reconfigure(variable(next))];
            // Vim has no keys where nothing can be typed.
            if (before.isEditable !== next.isEditable && settings().vim)
                effects.push(this.settings.reconfigure(this.#fromSettings(next)));
            this.view.dispatch({ effects });
            this.#loadVim();
            this.#loadMarkdown(next);
        }
    }

    /** Loads the extensions for Markdown if this editor is the first that needs them. */
    async #loadMarkdown({ kind } = this.props) {
        if (kind !== 'markdown' || markdownEditing.length) return;
        // Without a connection the text stays plain; the next editor tries again.
        const part = await loadPart('markdownEditing').catch(() => null);
        if (!part) return;
        ({ markdownEditing } = part);
        this.view?.dispatch({ effects: this.editable.reconfigure(variable(this.props)) });
    }

    componentWillUnmount() {
        this.props.held(null);
        this.forgetSettings();
        this.view?.destroy();
        this.view = null;
    }

    /** Creates the CodeMirror editor if it does not exist yet. */
    make() {
        if (this.view || !this.element) return;
        this.element.textContent = '';
        this.view = new EditorView({
            parent: this.element,
            state: this.#firstState(),
        });
        this.forgetSettings = onSettings(() => this.#onSettings());
        this.#loadVim();
        this.#loadMarkdown();
        this.showCarets(this.carets);
        this.marks?.(this.view);
    }

    #firstState() {
        const { text, historyKey } = this.props;
        const extensions = this.#extensions();
        return historyKey === undefined
            ? EditorState.create({ doc: text, extensions })
            : stateWithHistory(historyKey, text.replace(LINE_ENDS, '\n'), extensions);
    }

    #onSettings() {
        this.view?.dispatch({ effects: this.settings.reconfigure(this.#fromSettings()) });
        this.#loadVim();
    }

    #fromSettings({ isEditable } = this.props) {
        const isVim = settings().vim && isEditable;
        return [settingExtensions(), isVim && vimKeys ? vimKeys((event) => this.#key(event)) : []];
    }

    /** Loads the keys of vim if the user wants them and this editor is the first. */
    async #loadVim() {
        if (!settings().vim || vimKeys) return;
        // Without a connection the keys stay as they are; the next editor tries again.
        const part = await loadPart('vim').catch(() => null);
        const code = await part?.loadVim().catch(() => null);
        if (!part || !code) return;
        vimKeys = (onKey) => part.vimKeys(code, onKey);
        this.#onSettings();
    }

    /** @param {'start' | 'end' | 'keep'} [where] where the cursor goes */
    focus(where = 'keep') {
        this.make();
        const { view } = this;
        if (!view) return;
        view.focus();
        if (where !== 'keep')
            view.dispatch({ selection: { anchor: where === 'start' ? 0 : view.state.doc.length } });
        this.keepCursor();
    }

    /**
     * Puts the browser's cursor where the editor's is. The browser puts it at the start of an
     * editor that gets the focus or moves; CodeMirror hears of that later, after keys typed before.
     */
    keepCursor() {
        const { view } = this;
        if (!view?.hasFocus) return;
        const { anchor, head } = view.state.selection.main;
        const [from, to] = [view.domAtPos(anchor), view.domAtPos(head)];
        getSelection()?.setBaseAndExtent(from.node, from.offset, to.node, to.offset);
    }

    /** Selects text, as far as it exists. @param {{anchor: number, head: number}} selection */
    select({ anchor, head }) {
        const { view } = this;
        const within = (/** @type {number} */ at) => Math.min(at, view?.state.doc.length ?? 0);
        view?.dispatch({ selection: { anchor: within(anchor), head: within(head) } });
    }

    /**
     * Applies a change from the server. Ignores the change if the editor has another text than
     * `before`.
     * @param {import('../text/changes.js').Changes} changes
     * @param {string} before the text to which the change applies
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

    /**
     * Marks the problems of the code, now or when the editor is created.
     * @param {(view: EditorView) => void} marks
     */
    showMarks(marks) {
        this.marks = marks;
        if (this.view) marks(this.view);
    }

    /** The main selection; null before the editor is created. */
    get selection() {
        return this.view ? this.view.state.selection.main : null;
    }

    get text() {
        return this.view ? this.view.state.doc.toString() : this.props.text;
    }

    #extensions() {
        return [
            Prec.highest(keymap.of([{ any: (_view, event) => this.#key(event) }])),
            keymap.of([...historyKeymap, ...defaultKeymap]),
            history(),
            bracketMatching(),
            indentOnInput(),
            indentUnit.of('    '),
            highlightSpecialChars(),
            EditorState.allowMultipleSelections.of(true),
            drawSelection(),
            rectangularSelection(),
            crosshairCursor(),
            // Put tooltips outside the cells, because editors scroll and outdated cells are gray.
            tooltips({ parent: document.getElementById('tips') ?? document.body }),
            this.settings.of(this.#fromSettings()),
            findMarks,
            this.props.asks ? [completing(this.props.asks), inspecting(this.props.asks)] : [],
            colours,
            look,
            this.editable.of(variable(this.props)),
            remoteCarets,
            EditorView.updateListener.of((update) => this.#updated(update)),
            EditorView.domEventHandlers({
                blur: () => this.#left(),
                beforeinput: replaceBySelf,
                paste: (event) => this.#pasted(event),
            }),
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

    /** Called after a blur. Scrolls to the line starts, unless only the window lost the focus. */
    #left() {
        this.#scrollBack();
        // In the next frame, CodeMirror may still scroll to the cursor of the last key press, so
        // scroll back again after that frame.
        requestAnimationFrame(() => requestAnimationFrame(() => this.#scrollBack()));
        this.props.onLeave();
    }

    /**
     * Gives pasted pictures to the cell. Spreadsheets copy a picture beside the text and its HTML:
     * then the text is meant. A picture from a web page comes with HTML alone, and a file with its
     * name as text.
     * @param {ClipboardEvent} event
     */
    #pasted({ clipboardData }) {
        const { kind, isEditable, onPictures } = this.props;
        const files = [...(clipboardData?.files ?? [])].filter(({ type }) => type.startsWith('image/'));
        if (!files.length || kind !== 'markdown' || !isEditable || !onPictures) return false;
        const isBeside = (/** @type {string} */ type) => clipboardData?.types.includes(type);
        if (isBeside('text/plain') && isBeside('text/html')) return false;
        onPictures(files);
        return true;
    }

    /** Replaces the selection, as typing does. @param {string} text */
    insert(text) {
        const { view } = this;
        view?.dispatch(view.state.replaceSelection(text), { scrollIntoView: true, userEvent: 'input.paste' });
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
     * Creates and focuses the editor if the user presses the mouse on its plain text. That happens
     * on a busy page or after fast scrolling.
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
        return html`<div class="editor" data-one-line=${this.props.text.includes('\n') ? null : ''}
            onMouseDown=${(/** @type {MouseEvent} */ event) => this.#pressed(event)}
            ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
            ${this.props.text}</div>`;
    }
}

/**
 * Replaces the selection with typed text before the browser does. Chromium would copy the style of
 * the old text into a `style` attribute. The page's content security policy blocks that attribute
 * and logs an error.
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

/** The extensions that change when the props change. @param {EditorProps} props */
function variable({ isEditable, isTabStop, kind, label, hint }) {
    return [
        placeholder(hint),
        EditorState.readOnly.of(!isEditable),
        EditorView.editable.of(isEditable),
        EditorView.contentAttributes.of({
            'aria-label': label,
            tabindex: isTabStop ? '0' : '-1',
            spellcheck: String(kind === 'markdown'),
        }),
        kind === 'code'
            ? [pythonLanguage, magics, typing]
            : [
                  EditorView.lineWrapping,
                  kind === 'markdown' ? [EditorState.languageData.of(() => [MARKDOWN]), markdownEditing] : [],
              ],
    ];
}

const MARKDOWN = {
    commentTokens: { block: { open: '<!--', close: '-->' } },
    closeBrackets: { brackets: ['(', '[', '{', '`'] },
};
