// @ts-check
// One cell: rail with the state's node, text, code, outputs. The same component shows a draft and
// then the state that it becomes, so nothing jumps after the run.

import { Component, html } from '../vendor/preact.js';
import { haveSameItems, isText, runOf, textOf } from '../notebook/cell-list.js';
import { partialText } from '../checkpoints/residency.js';
import { hasEnded } from '../shell/protocol.js';
import { duration } from '../text/format.js';
import { WORDS } from '../shell/words.js';
import { COMPARE_WORDS } from '../compare/compare-words.js';
import { Crash } from './crash.js';
import { DragHandle } from './cell-drag.js';
import { Editor } from '../editor/editor.js';
import { BackIcon, MoreIcon, OnIcon, RunIcon, StopIcon } from '../ui/icons.js';
import { ResidencyNotice, ResidencyLine } from '../checkpoints/residency-view.js';
import { Menu } from '../ui/menu.js';
import { Outputs } from '../outputs/outputs.js';
import { Markdown } from '../outputs/rich-text.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../notebook/drafts.js').Typed} Typed */
/** @typedef {import('./cell-controller.js').CellController} Acts */

/**
 * @typedef {object} CellProps
 * @property {CellData} cell
 * @property {readonly unknown[]} inputs all values that the rendering depends on; see
 *   `renderInputs`
 * @property {boolean} mayRun
 * @property {boolean} mayType
 * @property {boolean} isStopping
 * @property {Acts} controller
 */

/** @extends {Component<CellProps, {isEditing: boolean}>} */
export class Cell extends Component {
    state = { isEditing: false };
    /** @type {Editor | null} */
    editor = null;
    asks = {
        complete: (/** @type {string} */ code, /** @type {number} */ cursor) =>
            this.props.controller.assist.complete(this.props.cell.key, code, cursor),
        inspect: (/** @type {string} */ code, /** @type {number} */ cursor) =>
            this.props.controller.assist.inspect(this.props.cell.key, code, cursor),
        isQuick: () => this.props.controller.assist.isQuick,
    };

    /** @param {CellProps} next @param {{isEditing: boolean}} state */
    shouldComponentUpdate(next, state) {
        const { inputs, mayRun, mayType, isStopping } = this.props;
        return (
            !haveSameItems(next.inputs, inputs) ||
            next.mayRun !== mayRun ||
            next.mayType !== mayType ||
            next.isStopping !== isStopping ||
            state.isEditing !== this.state.isEditing
        );
    }

    componentDidMount() {
        this.props.controller.mounted(this.props.cell.key, this);
        this.#tick();
    }

    componentWillUnmount() {
        this.props.controller.unmounted(this.props.cell.key, this);
        clearInterval(this.clock);
    }

    componentDidUpdate() {
        this.#tick();
    }

    /** Repaints each second while the cell runs, to update the elapsed time. */
    #tick() {
        const ticks = runOf(this.props.cell)?.status === 'running';
        if (ticks && !this.clock) this.clock = setInterval(() => this.forceUpdate(), 1000);
        if (!ticks) {
            clearInterval(this.clock);
            this.clock = undefined;
        }
    }

    /** Focuses the editor. @param {'start' | 'end' | 'keep'} [where] */
    focus(where) {
        if (isText(this.props.cell) && !this.state.isEditing)
            this.setState({ isEditing: true }, () => this.editor?.focus(where));
        else this.editor?.focus(where);
        document
            .querySelector(`[data-cell="${CSS.escape(this.props.cell.key)}"]`)
            ?.scrollIntoView({ block: 'nearest' });
    }

    /** The current code. */
    get text() {
        return this.editor?.text ?? textOf(this.props.cell);
    }

    /** @param {'next' | 'stay' | 'insert'} then */
    run(then) {
        this.setState({ isEditing: false });
        this.props.controller.run(this, then);
    }

    /** @param {string} text @param {Typed} typed */
    #onType(text, typed) {
        if (isText(this.props.cell) && !this.state.isEditing) this.setState({ isEditing: true });
        this.props.controller.type(this.props.cell, text, typed);
    }

    /** @param {Editor | null} editor */
    #hold(editor) {
        this.editor = editor;
        this.props.controller.page.onEditor(this.props.cell.key, editor);
    }

    #onLeave() {
        const { cell, controller } = this.props;
        if (cell.kind === 'draft') controller.flush(cell.draft.id);
        if (isText(cell) && this.text.trim()) this.setState({ isEditing: false });
    }

    /** @param {CellProps} props @param {{isEditing: boolean}} state */
    render({ cell, mayRun, mayType, isStopping, controller }, { isEditing }) {
        const run = runOf(cell);
        const isOpen = run !== undefined && !hasEnded(run.status);
        const status = cell.isAsked ? 'queued' : (run?.status ?? 'new');
        const asText = isText(cell) && !isEditing && textOf(cell).trim() !== '';
        const isEditable = mayType && cell.kind !== 'attempt' && !(cell.kind === 'ran' && isOpen);
        return html`
            <article class="cell" tabindex="0" aria-label=${nameOf(cell)} data-cell=${cell.key}
                data-kind=${cell.kind} data-status=${status}
                data-fresh=${cell.kind === 'draft' && cell.isFresh ? '' : null}
                data-text=${isText(cell) ? '' : null}
                data-outdated=${cell.kind === 'ran' && cell.isOutdated ? '' : null}
                data-edited=${cell.kind === 'ran' && cell.edit ? '' : null}
                data-living=${cell.kind === 'ran' ? cell.state.living : null}>
                <div class="rail">
                    <span class="count">${cell.kind === 'ran' && cell.state.exec_count}</span>
                    <span class="node" aria-hidden="true"></span>
                    ${mayRun && cell.kind === 'draft' && !cell.isFresh && html`<${DragHandle} />`}
                </div>
                <div class="cell-body">
                    ${
                        cell.kind === 'ran' &&
                        cell.state.label &&
                        html`<div class="label">
                        ${cell.state.label}</div>`
                    }
                    ${
                        cell.kind === 'ran' &&
                        cell.state.prose.map(
                            (text, i) => html`
                        <${Prose} key=${`prose ${i}`} text=${text} isEditable=${mayRun}
                            onChange=${(/** @type {string} */ changed) =>
                                controller.setProse(cell.state, i, changed)}
                            onDone=${(/** @type {boolean} */ goesOn) =>
                                goesOn ? this.focus() : controller.focusCell(cell.key)} />`,
                        )
                    }
                    <div class="source" key="source"
                        onDblClick=${asText && mayRun ? () => this.focus('end') : null}>
                        ${
                            asText
                                ? html`<${Markdown} text=${textOf(cell)} />`
                                : html`<${Editor} text=${textOf(cell)}
                                    kind=${isText(cell) ? 'markdown' : 'code'} isEditable=${isEditable}
                                    label=${nameOf(cell)}
                                hint=${isText(cell) ? WORDS.textPlaceholder : WORDS.placeholder}
                                asks=${this.asks}
                                onKey=${(/** @type {KeyboardEvent} */ event) =>
                                    this.props.controller.onEditorKey(this, event)}
                                    onLeave=${() => this.#onLeave()}
                                onType=${(/** @type {string} */ text, /** @type {Typed} */ typed) =>
                                    this.#onType(text, typed)}
                                onCaret=${(/** @type {boolean} */ isHere) =>
                                    this.props.controller.page.presence.onCaret(isHere ? cell.key : null)}
                                held=${(/** @type {Editor | null} */ editor) => this.#hold(editor)} />`
                        }
                        ${
                            mayRun &&
                            html`<${Tools} cell=${cell} isOpen=${isOpen} isStopping=${isStopping}
                            controller=${controller} of=${this} />`
                        }
                    </div>
                    <${Notes} cell=${cell} run=${run} controller=${controller} mayRun=${mayRun} />
                    ${
                        cell.kind === 'ran' &&
                        cell.isHere &&
                        html`<${ResidencyNotice} cell=${cell}
                        controller=${controller} mayRun=${mayRun} />`
                    }
                    ${
                        run &&
                        html`<${Outputs} key=${run.exec_id} run=${run} rev=${run.rev}
                        controller=${controller} mayRun=${mayRun} />`
                    }
                    ${
                        run?.keepable &&
                        html`<p class="undone-changes">
                        ${WORDS.takenBack} ${
                            mayRun &&
                            html`<button class="text-button"
                            title=${WORDS.keepPartialHint}
                            onClick=${() => controller.page.checkpoints.keepPartial(run.exec_id)}>
                            ${WORDS.keepPartial}</button>`
                        }</p>`
                    }
                    ${run?.status === 'crashed' && html`<${Crash} run=${run} />`}
                </div>
            </article>`;
    }
}

/**
 * The buttons in the corner of the cell.
 * @param {{cell: CellData, isOpen: boolean, isStopping: boolean, controller: Acts, of: Cell}} props
 */
function Tools({ cell, isOpen, isStopping, controller, of }) {
    const stop = isStopping ? [WORDS.stopHard, WORDS.stopHardHint] : [WORDS.stop, WORDS.stopHint];
    return html`
        <div class="tools">
            ${
                isOpen
                    ? html`<button class="tool" data-stop title=${stop[1]}
                        onClick=${(/** @type {MouseEvent} */ event) => controller.onStopPressed(cell, event)}>
                        <${StopIcon} />${stop[0]}</button>`
                    : !isText(cell) &&
                      cell.kind !== 'attempt' &&
                      html`<button class="tool" data-run title=${`${WORDS.run} (Ctrl-Enter)`}
                          onClick=${() => controller.run(of, 'stay')}><${RunIcon} />${WORDS.run}</button>`
            }
            ${
                !(cell.kind === 'draft' && cell.isFresh) &&
                html`<${Menu} label=${WORDS.cellMenu}
                className="tool" alignEnd face=${html`<${MoreIcon} />`}
                actions=${() => controller.menuOf(of)} />`
            }
            ${
                cell.kind === 'draft' &&
                cell.isFresh &&
                html`<button class="tool" title=${WORDS.toText}
                onClick=${() => controller.setKind(cell, 'markdown')}>${WORDS.text}</button>`
            }
        </div>`;
}

/**
 * Status and remarks about a cell, in one line.
 * @param {{cell: CellData, run: Run | undefined, controller: Acts, mayRun: boolean}} props
 */
function Notes({ cell, run, controller, mayRun }) {
    // The server has not confirmed the run yet.
    if (cell.isAsked)
        return html`<div class="notes">
            <span class="busy" data-late=${controller.page.connection === 'open' ? '' : null}>
                ${WORDS.asked}</span></div>`;
    const parts = [];
    if (run?.status === 'queued') parts.push(html`<span class="busy">${WORDS.queued}</span>`);
    if (run?.status === 'running')
        parts.push(
            html`<span class="busy">
                ${duration(Math.max(0, Date.now() - (run.started_at ?? Date.now())))}</span>`,
        );
    if (cell.kind === 'ran' && cell.state.partial && run === cell.run)
        parts.push(html`<span class="bad">${partialText(cell.state, run)}</span>`);
    else if (run && run.status in WORDS.failed)
        parts.push(
            html`<span class="bad">
                ${
                    run.status === 'interrupted' && run.started_at !== null && !run.keepable
                        ? WORDS.stoppedWhole
                        : WORDS.failed[/** @type {'error'} */ (run.status)]
                }</span>`,
        );
    if (cell.kind === 'draft' && run && run.status in WORDS.failed && mayRun) {
        parts.push(
            html`<button class="text-button" onClick=${() => controller.removeFailed(cell)}>
                ${WORDS.remove}</button>`,
        );
    }
    if (run?.duration_ms != null) parts.push(html`<span>${duration(run.duration_ms)}</span>`);
    if (cell.kind === 'ran' && cell.versions.length > 1) parts.push(versions(cell, controller));
    if (cell.kind === 'ran' && cell.edit && run && hasEnded(run.status)) {
        parts.push(
            html`<span>${WORDS.edited}</span>`,
            mayRun &&
                html`<button class="text-button" onClick=${() => controller.undoEdit(cell)}>
                    ${WORDS.undoEdit}</button>`,
        );
    }
    if (cell.kind === 'ran' && cell.isOutdated) parts.push(html`<span>${WORDS.outdated}</span>`);
    parts.push(...(run?.warnings ?? []).map((warning) => html`<span class="warning">${warning}</span>`));
    if (cell.kind === 'ran')
        parts.push(...cell.warnings.map((warning) => html`<span class="warning">${warning}</span>`));
    if (cell.kind === 'draft' && cell.isInside && !isText(cell))
        parts.push(html`<span>${WORDS.inside}</span>`);
    if (cell.kind === 'ran' && cell.isHere) parts.push(html`<${ResidencyLine} cell=${cell} />`);
    return parts.length > 0 && html`<div class="notes">${parts}</div>`;
}

/**
 * Switches between the versions of a cell.
 * @param {Extract<CellData, {kind: 'ran'}>} cell
 * @param {Acts} controller
 */
function versions({ state, versions: all }, controller) {
    const at = all.indexOf(state.id);
    const to = (/** @type {number} */ i) => () => {
        const version = all[i];
        if (version) controller.goToNewestBelow(version);
    };
    const compare = () => {
        const [from, until] = all.slice(Math.max(at - 1, 0));
        if (from && until) controller.page.compare(from, until);
    };
    return html`
        <span class="versions">
            <button class="text-button" disabled=${at === 0} aria-label=${WORDS.earlierVersion}
                title=${WORDS.earlierVersion} onClick=${to(at - 1)}><${BackIcon} /></button>
            ${WORDS.version(at + 1, all.length)}
            <button class="text-button" disabled=${at === all.length - 1} aria-label=${WORDS.laterVersion}
                title=${WORDS.laterVersion} onClick=${to(at + 1)}><${OnIcon} /></button>
            <button class="text-button" title=${COMPARE_WORDS.compareVersionsHint}
                onClick=${compare}>
                ${COMPARE_WORDS.compareVersions}</button>
        </span>`;
}

/**
 * @typedef {object} ProseProps
 * @property {string} text
 * @property {boolean} isEditable
 * @property {(text: string) => void} onChange
 * @property {(goesOn: boolean) => void} onDone a key ended the editing; `goesOn`: the focus
 *   moves to the code
 */

/** Markdown above a cell's code. @extends {Component<ProseProps, {isEditing: boolean}>} */
class Prose extends Component {
    state = { isEditing: false };
    text = '';

    /** @param {ProseProps} props @param {{isEditing: boolean}} state */
    render({ text, isEditable, onChange, onDone }, { isEditing }) {
        const end = (/** @type {() => void} */ then = () => {}) => {
            if (!this.state.isEditing) return;
            this.setState({ isEditing: false }, then);
            if (this.text !== text) onChange(this.text);
        };
        const begin = () => {
            this.text = text;
            this.setState({ isEditing: true });
        };
        if (!isEditing)
            return html`<div onDblClick=${isEditable ? begin : null}><${Markdown} text=${text} /></div>`;
        const done = (/** @type {boolean} */ goesOn) => () => end(() => onDone(goesOn));
        const onKey = (/** @type {KeyboardEvent} */ { key, shiftKey, ctrlKey, metaKey }) => {
            const isDone = key === 'Escape' || (key === 'Enter' && (shiftKey || ctrlKey || metaKey));
            if (isDone) done(key === 'Enter' && shiftKey)();
            return isDone;
        };
        return html`<div class="source">
            <${Editor} text=${text} kind="markdown" isEditable=${true} label=${WORDS.text}
                hint=${WORDS.textPlaceholder} onKey=${onKey}
            onType=${(/** @type {string} */ typed) => (this.text = typed)} onLeave=${() => end()}
            held=${(/** @type {Editor | null} */ editor) => editor?.focus()} /></div>`;
    }
}

/** @param {CellData} cell */
function nameOf(cell) {
    if (cell.kind === 'ran') return WORDS.cellRan(cell.state.exec_count);
    return cell.kind === 'draft' ? WORDS.cellDraft : WORDS.cellAttempt;
}
