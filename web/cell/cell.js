// @ts-check
// One cell: the rail with the state's node, then code and outputs, or Markdown. The component
// that shows a draft also shows the state that the draft becomes, so nothing on the page moves
// after the run.

import { Component, html } from '../vendor/preact.js';
import { haveSameItems, isText, kindOf, numberOf, runOf, textOf } from '../notebook/cell-list.js';
import { beforeRunText, largeMemory, partialText } from '../checkpoints/residency.js';
import { hasEnded } from '../shell/protocol.js';
import { duration, firstLine } from '../text/format.js';
import { WORDS } from '../shell/words.js';
import { BranchTabs } from './branch-tabs.js';
import { cellName, editorName } from './cell-name.js';
import { isWhole } from './cell-operations.js';
import { cellElement, showWhole } from './focus.js';
import { foldedCode } from './folds.js';
import { Editor } from '../editor/editor.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { DownIcon, GraphIcon, MoreIcon, OnIcon, RunIcon, StopIcon } from '../ui/icons.js';
import { ResidencyNotice, ResidencyLine } from '../checkpoints/residency-view.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { showSweep } from '../sweep/sweep-commands.js';
import { memberOf } from '../sweep/sweeps.js';
import { LazyPart, loadPart, withPart } from '../shell/lazy-parts.js';
import { Menu } from '../ui/menu.js';
import { Outputs } from '../outputs/outputs.js';
import { Markdown } from '../outputs/rich-text.js';

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../notebook/drafts.js').Typed} Typed */
/** @typedef {import('./cell-controller.js').CellController} CellController */

/**
 * @typedef {object} CellProps
 * @property {CellData} cell
 * @property {readonly unknown[]} inputs all values that the rendering depends on; see
 *   `renderInputs`
 * @property {boolean} mayRun
 * @property {boolean} mayType
 * @property {boolean} isStopping
 * @property {boolean} isHidden whether a collapsed section hides the cell
 * @property {import('../notebook/sections.js').Section | undefined} section the section that the
 *   cell begins
 * @property {CellController} controller
 */

/** @typedef {{isEditing: boolean, isFolded: boolean}} CellState */

/** @extends {Component<CellProps, CellState>} */
export class Cell extends Component {
    state = { isEditing: false, isFolded: foldedCode.has(this.props.cell.key) };
    /** @type {Editor | null} */
    editor = null;
    asks = {
        complete: (/** @type {string} */ code, /** @type {number} */ cursor) =>
            this.props.controller.assist.complete(this.props.cell.key, code, cursor),
        inspect: (/** @type {string} */ code, /** @type {number} */ cursor) =>
            this.props.controller.assist.inspect(this.props.cell.key, code, cursor),
        isQuick: () => this.props.controller.assist.isQuick,
    };

    /** @param {CellProps} next @param {CellState} state */
    shouldComponentUpdate(next, state) {
        const { inputs, mayRun, mayType, isStopping } = this.props;
        return (
            !haveSameItems(next.inputs, inputs) ||
            next.mayRun !== mayRun ||
            next.mayType !== mayType ||
            next.isStopping !== isStopping ||
            state.isEditing !== this.state.isEditing ||
            state.isFolded !== this.state.isFolded
        );
    }

    /** Another person may turn the cell that is typed in into Markdown. @param {CellProps} next */
    componentWillReceiveProps(next) {
        const isTypedIn = this.editor?.view?.hasFocus && !isText(this.props.cell);
        if (isTypedIn && isText(next.cell)) this.setState({ isEditing: true });
    }

    componentDidMount() {
        const { cell, controller } = this.props;
        controller.focus.mounted(cell.key, this);
        // Typing before a reload of the page.
        if (cell.kind === 'text') controller.edits.saveText(cell);
        this.#tick();
    }

    componentWillUnmount() {
        this.props.controller.focus.unmounted(this.props.cell.key, this);
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

    /**
     * Focuses the editor.
     * @param {'start' | 'end' | 'keep'} [where]
     * @param {{anchor: number, head: number}} [selection] the selection in the editor then
     */
    focus(where, selection) {
        this.props.controller.sections.reveal(this.props.cell.key);
        if (this.isFolded) this.fold(false);
        const focus = () => {
            this.editor?.focus(where);
            if (selection) this.editor?.select(selection);
        };
        if (isText(this.props.cell) && !this.state.isEditing) this.setState({ isEditing: true }, focus);
        else focus();
        const element = cellElement(this.props.cell.key);
        if (element) showWhole(element);
    }

    /** Whether the cell shows one line in place of its code. */
    get isFolded() {
        return this.state.isFolded && !isText(this.props.cell);
    }

    /** Collapses or expands the code. @param {boolean} isFolded */
    fold(isFolded) {
        const { cell, controller } = this.props;
        // A hidden editor cannot have the focus.
        if (this.editor?.view?.hasFocus) controller.focus.cell(cell.key);
        foldedCode.set(cell.key, isFolded);
        this.setState({ isFolded });
        controller.page.host.paintNow();
    }

    /** The current text of the editor. */
    get text() {
        return this.editor?.text ?? textOf(this.props.cell);
    }

    /** @param {'next' | 'stay' | 'insert'} then */
    run(then) {
        const { cell, controller } = this.props;
        this.setState({ isEditing: false });
        if (cell.kind === 'text') controller.edits.saveText(cell);
        controller.runs.run(this, then);
    }

    /** @param {string} text @param {Typed} typed */
    #onType(text, typed) {
        if (isText(this.props.cell) && !this.state.isEditing) this.setState({ isEditing: true });
        this.props.controller.edits.type(this.props.cell, text, typed);
    }

    /** @param {Editor | null} editor */
    #hold(editor) {
        this.editor = editor;
        this.props.controller.page.onEditor(this.props.cell.key, editor);
    }

    /** The id of the draft whose text the cell shows, if any. */
    get #draft() {
        const { cell, controller } = this.props;
        return cell.kind === 'ran' ? (controller.page.drafts.editOf(cell.state)?.id ?? null) : cell.key;
    }

    #onLeave() {
        const { cell, controller } = this.props;
        controller.page.drafts.flush(this.#draft ?? '');
        if (cell.kind === 'text') controller.edits.saveText(cell);
        if (isText(cell) && this.text.trim()) this.setState({ isEditing: false });
    }

    #foldedCode() {
        const text = this.text.trimEnd();
        return html`<button class="folded-code" key="folded" aria-expanded="false" title=${WORDS.unfoldCode}
            onClick=${() => this.fold(false)}>
            <code>${firstLine(text)}</code> <span>${WORDS.allLines(text.split('\n').length)}</span></button>`;
    }

    /** @param {CellProps} props @param {CellState} state */
    render({ cell, mayRun, mayType, isStopping, isHidden, section, controller }, { isEditing }) {
        const run = runOf(cell);
        const isOpen = run !== undefined && !hasEnded(run.status);
        const status = cell.isAsked ? 'queued' : (run?.status ?? 'new');
        const kind = kindOf(cell);
        const asText = kind === 'markdown' && !isEditing && textOf(cell).trim() !== '';
        const isMovable = mayRun && isWhole(cell);
        const matters = measuresThatMatter(cell, run);
        const isEditable = mayType && cell.kind !== 'attempt' && !(cell.kind === 'ran' && isOpen);
        return html`
            <article class="cell" tabindex="0" aria-label=${cellName(cell)}
                aria-description=${firstLine(textOf(cell).trim()) || null} data-cell=${cell.key}
                hidden=${isHidden} data-section=${section ? '' : null}
                data-kind=${cell.kind} data-status=${status} data-branch=${'colour' in cell ? cell.colour : null}
                data-fresh=${cell.kind === 'draft' && cell.isFresh ? '' : null}
                data-text=${isText(cell) ? kind : null}
                data-outdated=${'isOutdated' in cell && cell.isOutdated ? '' : null}
                data-edited=${cell.kind === 'ran' && cell.edit ? '' : null}
                data-living=${cell.kind === 'ran' ? cell.state.living : null}
                data-deleted=${cell.kind === 'ran' && cell.isDeleted ? '' : null}>
                ${mayRun && html`<${InsertHere} cell=${cell} controller=${controller} />`}
                <div class="rail" data-movable=${isMovable ? '' : null}>
                    <span class="count" aria-hidden="true"
                        data-long=${cell.kind === 'ran' && cell.state.exec_count > 999 ? '' : null}>${
                            isText(cell)
                                ? `${kind === 'raw' ? 'R' : 'T'}${numberOf(cell)}`
                                : cell.kind === 'ran' && cell.state.exec_count
                        }</span>
                    <span class="node" aria-hidden="true"></span>
                    ${section && section.count > 0 && html`<${SectionTwist} section=${section} controller=${controller} />`}
                    ${
                        isMovable &&
                        html`<span class="drag-handle" data-grip title=${EDITOR_WORDS.drag}
                        aria-hidden="true"
                        onPointerEnter=${() => void loadPart('drag').catch(() => {})}></span>`
                    }
                </div>
                <div class="cell-body">
                    ${
                        'beside' in cell && hasTabs(cell)
                            ? html`<${BranchTabs} cell=${cell} controller=${controller} mayRun=${mayRun} />`
                            : cell.kind === 'ran' &&
                              cell.state.label &&
                              html`<div class="label">${cell.state.label}</div>`
                    }
                    <div class="source" key="source" data-folded=${this.isFolded ? '' : null}
                        data-measured=${matters ? '' : null}
                        onDblClick=${asText && mayRun ? () => this.focus('end') : null}>
                        ${this.isFolded && this.#foldedCode()}
                        ${
                            asText
                                ? html`<${Markdown} text=${textOf(cell)} pictures=${controller.pictures} />`
                                : html`<${Editor} text=${textOf(cell)}
                                    kind=${kind} isEditable=${isEditable}
                                    label=${editorName(cell)} historyKey=${cell.key}
                                hint=${HINTS[kind]}
                                asks=${this.asks}
                                onKey=${(/** @type {KeyboardEvent} */ event) =>
                                    this.props.controller.onEditorKey(this, event)}
                                    onLeave=${() => this.#onLeave()}
                                onPictures=${(/** @type {File[]} */ files) =>
                                    void controller.edits.attach(this, files)}
                                onType=${(/** @type {string} */ text, /** @type {Typed} */ typed) =>
                                    this.#onType(text, typed)}
                                onCaret=${(/** @type {boolean} */ isHere) =>
                                    this.props.controller.page.presence.onCaret(isHere ? this.#draft : null)}
                                held=${(/** @type {Editor | null} */ editor) => this.#hold(editor)} />`
                        }
                        ${kind === 'raw' && html`<span class="raw-mark" aria-hidden="true">${WORDS.raw}</span>`}
                        ${matters && html`<span class="measures">${matters}</span>`}
                        <${Tools} cell=${cell} isOpen=${isOpen} isStopping=${isStopping}
                            mayRun=${mayRun} controller=${controller} of=${this} />
                    </div>
                    ${
                        section?.isFolded &&
                        section.count > 0 &&
                        html`<${FoldedSection} section=${section} controller=${controller} />`
                    }
                    ${
                        run &&
                        html`<${Outputs} key=${run.exec_id} run=${run} rev=${run.rev}
                        controller=${controller} mayRun=${mayRun} />`
                    }
                    ${
                        cell.kind === 'draft' &&
                        cell.stale &&
                        html`<${Stale} draft=${cell.draft} run=${cell.stale} controller=${controller}
                            mayRun=${mayRun} />`
                    }
                    <${Notes} cell=${cell} run=${run} controller=${controller} mayRun=${mayRun} />
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
                    ${cell.kind !== 'text' && run && html`<${SweepLine} run=${run} controller=${controller} />`}
                    ${
                        run?.error?.ename === 'NameError' &&
                        html`<${LazyPart} of="missingName" view=${missingName} page=${controller.page}
                            onFailed=${() => {}} run=${run} cell=${cell} />`
                    }
                    ${
                        run?.status === 'crashed' &&
                        html`<${LazyPart} of="crash" view=${crash} page=${controller.page}
                            onFailed=${() => {}} run=${run} />`
                    }
                    ${
                        cell.kind === 'ran' &&
                        cell.isHere &&
                        html`<${ResidencyNotice} cell=${cell}
                        controller=${controller} mayRun=${mayRun} />`
                    }
                </div>
            </article>`;
    }
}

/**
 * What the cell that a draft was made from has shown, until the draft runs.
 * @param {{draft: import('../shell/protocol.js').Draft, run: Run, controller: CellController,
 *   mayRun: boolean}} props
 */
const Stale = ({ draft, run, controller, mayRun }) => html`
    <div class="stale"><${Outputs} key=${run.exec_id} run=${run} rev=${run.rev} controller=${controller}
        mayRun=${false} /></div>
    <div class="notes">${run.status !== 'imported' && html`<span>${WORDS.outdated}</span>`}${
        mayRun &&
        html`<button class="text-button" onClick=${() =>
            withPart('clear', controller.page, ({ clearOutput }) => clearOutput(controller, draft), false)}>
            ${WORDS.clearStale}</button>`
    }</div>`;

/**
 * Which row of which sweep a cell is.
 * @param {{run: Run, controller: CellController}} props
 */
function SweepLine({ run, controller }) {
    const { page } = controller;
    const member = memberOf(page.model.sweeps, run.exec_id);
    if (!member) return null;
    const { before, name, after } = ROW_WORDS.line(member);
    return html`<p class="sweep-line-of">${before}<button class="text-button" title=${ROW_WORDS.table}
        onClick=${() => void showSweep(page, member.sweep.id)}>${name}</button>${after}</p>`;
}

/**
 * The button beside a heading that collapses or expands its section. Keys have the arrows instead.
 * @param {{section: import('../notebook/sections.js').Section, controller: CellController}} props
 */
function SectionTwist({ section, controller }) {
    const { isFolded } = section;
    const said = isFolded ? WORDS.unfoldSection : WORDS.foldSection;
    return html`<button class="section-twist" tabindex="-1" aria-expanded=${!isFolded} aria-label=${said}
        title=${said} onClick=${() => controller.sectionCommands.set(section, !isFolded)}>
        ${isFolded ? html`<${OnIcon} />` : html`<${DownIcon} />`}</button>`;
}

/**
 * The line in place of a collapsed section's cells.
 * @param {{section: import('../notebook/sections.js').Section, controller: CellController}} props
 */
function FoldedSection({ section, controller }) {
    const { count, open, failed } = section;
    return html`<button class="folded-section" title=${WORDS.unfoldSection} aria-expanded="false"
        onClick=${() => controller.sectionCommands.set(section, false)}>
        <span>${WORDS.hiddenCells(count)}</span>
        ${open > 0 && html` <span data-status="running">${WORDS.hiddenOpen(open)}</span>`}
        ${failed > 0 && html` <span data-status="error">${WORDS.hiddenFailed(failed)}</span>`}</button>`;
}

/**
 * The button in the gap above a cell that inserts a cell there. Keys have `a` and `b` instead, so
 * screen readers do not meet it at each cell.
 * @param {{cell: CellData, controller: CellController}} props
 */
function InsertHere({ cell, controller }) {
    // Above the empty cell, another empty cell is of no use.
    if (cell.kind === 'attempt' || (cell.kind === 'draft' && cell.isFresh)) return null;
    return html`<div class="insert" aria-hidden="true">
        <button class="insert-button" tabindex="-1" aria-label=${WORDS.insertHere} title=${WORDS.insertHere}
            onClick=${() => controller.edits.insertAbove(cell)}></button></div>`;
}

/**
 * The title of Run, with what happens before the cell runs.
 * @param {import('../notebook/page.js').Page} page
 * @param {CellData} cell
 */
const runTitle = ({ model }, cell) =>
    [`${WORDS.run} (Ctrl-Enter)`, 'base' in cell && cell.base && beforeRunText(model, cell.base.id)]
        .filter(Boolean)
        .join('. ');

/** @param {import('../shell/lazy-parts.js').Part<'crash'>} part */
const crash = ({ Crash }) => Crash;

/** @param {import('../shell/lazy-parts.js').Part<'missingName'>} part */
const missingName = ({ MissingName }) => MissingName;

/** @param {import('../shell/lazy-parts.js').Part<'cellMenu'>} part */
const cellMenu = ({ CellMenu }) => CellMenu;

/**
 * The time and memory of a cell, if they are unusual: always shown, at the right end of its code.
 * @param {CellData} cell
 * @param {Run | undefined} run the run that it shows
 */
function measuresThatMatter(cell, run) {
    const parts = [];
    if (run?.status === 'running')
        parts.push(
            html`<b class="busy">${duration(Math.max(0, Date.now() - (run.started_at ?? Date.now())))}</b>`,
        );
    if (isLong(run)) parts.push(duration(run?.duration_ms ?? 0));
    const memory = cell.kind === 'ran' ? largeMemory(cell.state, cell.base) : null;
    if (memory) parts.push(memory);
    // Where the current state is, unless it is ready to run cells.
    const living = cell.kind === 'ran' && cell.isHere ? cell.state.living : 'memory';
    if (living === 'disk' || living === 'replay') parts.push(WORDS.lives[living]);
    return parts.length > 0 ? parts.flatMap((part, i) => (i > 0 ? [' · ', part] : [part])) : null;
}

/** What stands in an empty cell. */
const HINTS = { code: WORDS.placeholder, markdown: WORDS.textPlaceholder, raw: WORDS.rawPlaceholder };

/** How long a run takes whose time is always shown, in milliseconds. */
const LONG_MS = 1000;

/** Whether a cell has the tabs of the branches beside it. @param {CellData} cell */
const hasTabs = (cell) => 'beside' in cell && cell.beside.length > 1;

/** Whether a cell runs once a run above has succeeded. @param {CellData} cell */
const isWaiting = (cell) => cell.kind === 'ran' && cell.isAsked && cell.isOutdated;

/** @param {Run | undefined} run */
const isLong = (run) => (run?.duration_ms ?? 0) > LONG_MS;

/**
 * The other measures of a cell: beside its buttons or, if tabs stand there, below its outputs.
 * @param {{cell: CellData}} props
 */
function Measures({ cell }) {
    const run = runOf(cell);
    const time = run?.duration_ms != null && !isLong(run) ? duration(run.duration_ms) : null;
    const isKept = cell.kind === 'ran' && cell.isHere;
    if (!time && !isKept) return null;
    return html`<span class="measures">${time}${time && isKept && ' · '}${
        isKept && html`<${ResidencyLine} cell=${cell} />`
    }</span>`;
}

/**
 * The measures and buttons in the corner of the cell.
 * @param {{cell: CellData, isOpen: boolean, isStopping: boolean, mayRun: boolean,
 *   controller: CellController, of: Cell}} props
 */
function Tools({ cell, isOpen, isStopping, mayRun, controller, of }) {
    const { runs } = controller;
    const measures = !hasTabs(cell) && html`<${Measures} cell=${cell} />`;
    if (!mayRun) return html`<div class="tools">${measures}</div>`;
    const stop = isStopping ? [WORDS.stopHard, WORDS.stopHardHint] : [WORDS.stop, WORDS.stopHint];
    return html`
        <div class="tools">
            ${measures}
            ${
                isOpen || isWaiting(cell)
                    ? html`<button class="tool" data-stop title=${stop[1]}
                        onClick=${(/** @type {MouseEvent} */ event) => runs.onStopPressed(cell, event)}>
                        <${StopIcon} />${stop[0]}</button>`
                    : !isText(cell) &&
                      cell.kind !== 'attempt' &&
                      html`<button class="tool" data-run title=${runTitle(controller.page, cell)}
                          onClick=${(/** @type {MouseEvent} */ event) => runs.onRunPressed(of, event)}>
                          <${RunIcon} />${WORDS.run}</button>`
            }
            ${
                cell.kind === 'ran' &&
                cell.state.living !== 'deleted' &&
                html`<button class="tool" title=${WORDS.branchHint}
                    onClick=${() => controller.branch(cell.state.id)}>
                    <${GraphIcon} />${WORDS.branch}</button>`
            }
            ${
                !(cell.kind === 'draft' && cell.isFresh) &&
                html`<${Menu} label=${WORDS.cellMenu}
                className="tool" alignEnd face=${html`<${MoreIcon} />`}
                home=${() => cellElement(cell.key)}
                list=${(/** @type {(takesFocus?: boolean) => void} */ close) => html`<${LazyPart}
                    of="cellMenu" view=${cellMenu} page=${controller.page} onFailed=${close}
                    cells=${controller} cell=${of} close=${close} />`} />`
            }
            ${
                cell.kind === 'draft' &&
                cell.isFresh &&
                html`<button class="tool" title=${WORDS.toText}
                onClick=${() => controller.edits.setKind(cell, 'markdown')}>${WORDS.text}</button>`
            }
        </div>`;
}

/**
 * The line below the outputs: status and warnings.
 * @param {{cell: CellData, run: Run | undefined, controller: CellController,
 *   mayRun: boolean}} props
 */
function Notes({ cell, run, controller, mayRun }) {
    if (isWaiting(cell)) return html`<div class="notes"><span class="busy">${WORDS.queued}</span></div>`;
    // The server has not confirmed the run yet.
    if (cell.isAsked)
        return html`<div class="notes">
            <span class="busy" data-late=${controller.page.connection === 'open' ? '' : null}>
                ${WORDS.asked}</span></div>`;
    const parts = [];
    if (run?.status === 'queued') parts.push(html`<span class="busy">${WORDS.queued}</span>`);
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
            html`<button class="text-button" onClick=${() => controller.edits.removeFailed(cell)}>
                ${WORDS.remove}</button>`,
        );
    }
    if (cell.kind === 'ran' && cell.edit && run && hasEnded(run.status)) {
        parts.push(
            html`<span>${WORDS.edited}</span>`,
            mayRun &&
                html`<button class="text-button" onClick=${() => controller.edits.revert(cell)}>
                    ${WORDS.undoEdit}</button>`,
        );
    }
    if (cell.kind === 'ran' && cell.isDeleted) parts.push(html`<span>${WORDS.deletedCell}</span>`);
    if (cell.kind === 'attempt' && mayRun && hasEnded(cell.run.status))
        parts.push(
            html`<button class="text-button" onClick=${() =>
                controller.focus.go({ key: controller.page.copyAsDraft(cell.run.code) })}>
                ${WORDS.editCopy}</button>`,
        );
    if (cell.kind === 'ran' && cell.isOutdated) parts.push(html`<span>${WORDS.outdated}</span>`);
    parts.push(...(run?.warnings ?? []).map((warning) => html`<span class="warning">${warning}</span>`));
    if (cell.kind === 'ran')
        parts.push(...cell.warnings.map((warning) => html`<span class="warning">${warning}</span>`));
    if (cell.kind === 'draft' && cell.isInside && !isText(cell))
        parts.push(html`<span>${WORDS.inside}</span>`);
    if (hasTabs(cell)) parts.push(html`<${Measures} cell=${cell} />`);
    return parts.length > 0 && html`<div class="notes">${parts}</div>`;
}
