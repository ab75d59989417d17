// @ts-check
// The whole page: header, graph, cells, variables, banners and notices.

import { SAVE_WORDS } from './save-words.js';
import { Name } from '../graph/name-view.js';
import { numbered } from '../graph/node-names.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { renderInputs, runOf, textOf } from './cell-list.js';
import { PYTHON_STATUS_WORDS } from '../python/python-status-words.js';
import { COMPARE_COMMAND_WORDS } from '../compare/compare-command-words.js';
import { WORDS } from '../shell/words.js';
import { Cell } from '../cell/cell.js';
import { copyText } from '../ui/copy.js';
import { DropOverlay, elementAt, watchDrops } from '../ui/file-drop.js';
import { FollowingBar } from '../presence/avatars.js';
import { FollowOutput } from './follow-output.js';
import { keepPointerSteady } from './steady-pointer.js';
import { Graph, graphStamp } from '../graph/graph.js';
import { Header } from './header.js';
import { CellController } from '../cell/cell-controller.js';
import { keepHistories } from '../editor/typing-history.js';
import { LazyPart, preloadParts, whenLoaded, withPart } from '../shell/lazy-parts.js';
import { Scrolling } from './scrolling.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { isReload } from '../ui/reload.js';
import { showSweep } from '../sweep/sweep-commands.js';
import { memberOf } from '../sweep/sweeps.js';

/**
 * In such narrow windows, panes are sheets over the notebook. The graph is initially closed, and
 * opening a pane closes the other.
 */
const NARROW = '(max-width: 600px)';
/** Keys that do nothing by themselves. */
const MODIFIERS = ['Shift', 'Control', 'Alt', 'Meta', 'AltGraph', 'CapsLock'];
/** Where dropped files are uploaded without a question. */
const FILES = '.files-pane';
/** The address fragment that starts the example; `ratoon demo` prints it. */
const EXAMPLE = '#example';
/** The Markdown cell that is being edited. */
const TEXT = '.cell[data-text="markdown"] .cm-content[contenteditable="true"]';

// The views of lazily loaded parts.
const compare = (/** @type {import('../shell/lazy-parts.js').Part<'compare'>} */ part) => part.Compare;
/** Takes the place of the cells, which are inert already, until the comparison is loaded. */
const LOADING = html`<main class="compare-loading" aria-label=${COMPARE_COMMAND_WORDS.name}
    aria-busy="true"><p class="hint late">${COMPARE_COMMAND_WORDS.loading}</p></main>`;
const branches = (/** @type {import('../shell/lazy-parts.js').Part<'branches'>} */ part) => part.Branches;
const guide = (/** @type {import('../shell/lazy-parts.js').Part<'example'>} */ part) => part.Guide;
const filesPane = (/** @type {import('../shell/lazy-parts.js').Part<'files'>} */ part) => part.FilesPane;
const findPanel = (/** @type {import('../shell/lazy-parts.js').Part<'finder'>} */ part) => part.FindPanel;
const keptPane = (/** @type {import('../shell/lazy-parts.js').Part<'kept'>} */ part) => part.KeptPane;
const notebookGone = (/** @type {import('../shell/lazy-parts.js').Part<'gone'>} */ part) => part.NotebookGone;
const outlinePane = (/** @type {import('../shell/lazy-parts.js').Part<'outline'>} */ part) =>
    part.OutlinePane;
const variablesPane = (/** @type {import('../shell/lazy-parts.js').Part<'variables'>} */ part) =>
    part.VariablesPane;

/**
 * @extends {Component<{page: import('./page.js').Page, rev: number, opened: string},
 *   {showsGraph: boolean, showsOutline: boolean, showsGuide: boolean,
 *   over: 'files' | 'text' | 'page' | null}>} `opened`: the fragment of the address with which the
 *   page was opened
 */
export class App extends Component {
    state = {
        showsGraph: this.props.page.host.recall('showsGraph') ?? !matchMedia(NARROW).matches,
        showsOutline: this.props.page.host.recall('showsOutline') === true,
        showsGuide: this.props.page.host.recall('showsGuide') === true,
        over: /** @type {'files' | 'text' | 'page' | null} */ (null),
    };
    /** Whether the focus has been set after loading. */
    hasBegun = false;
    /** Whether the address named no state when the page was opened. */
    beganWithoutState = ['', EXAMPLE].includes(this.props.opened);
    /** Whether the address asks for the example. */
    wantsExample = this.props.opened === EXAMPLE;
    controller = new CellController(this.props.page);
    scrolling = new Scrolling(this.props.page, this.controller);
    /** @type {import('./cell-list.js').Cell[]} */
    cells = [];
    sections = this.controller.sections.of([]);
    /** The focused element before a comparison opened. @type {Element | null} */
    beforeComparing = null;
    /** @type {HTMLElement | null} */
    main = null;

    componentDidMount() {
        document.addEventListener('keydown', (event) => this.controller.onGlobalKey(event));
        this.controller.focus.watch();
        this.controller.panes = {
            graph: () => this.#showGraph(!this.state.showsGraph),
            outline: () => this.#showOutline(!this.state.showsOutline),
            wentInGraph: () => matchMedia(NARROW).matches && this.#showGraph(false),
            variables: () => this.#showVariables(!this.props.page.variables.isShown),
            files: () => this.#showFiles(!this.props.page.files.isShown),
            uncover: () => this.#makeRoom(true),
        };
        const notebook = /** @type {HTMLElement | null | undefined} */ (
            this.main?.querySelector('.notebook')
        );
        if (this.main && notebook) {
            this.scrolling.watch(this.main, notebook);
            keepPointerSteady(this.main, notebook, () => this.controller.focus.typedIn());
        }
        this.main?.addEventListener('focusin', (event) =>
            this.controller.selected.onFocusIn(/** @type {Element} */ (event.target)),
        );
        this.#watchActs();
        whenLoaded('drag', ({ CellDrag }) => this.main && new CellDrag(this.main, this.controller));
        watchDrops(
            (at, types) => {
                const over = at && this.#overWhat(at, types);
                if (this.state.over !== over) this.setState({ over });
            },
            (files, at, folders) => {
                const { page } = this.props;
                const over = this.#overWhat(
                    at,
                    files.map(({ type }) => type),
                );
                const key = over === 'text' && elementAt(at, TEXT)?.closest('[data-cell]');
                const view = key && this.controller.focus.views.get(key.getAttribute('data-cell') ?? '');
                if (view) void this.controller.edits.attach(view, files);
                else
                    void withPart('dropped', page, ({ takeDropped }) =>
                        takeDropped(page, files, over === 'files', folders),
                    );
            },
        );
        addEventListener('pagehide', () => {
            this.props.page.host.remember('focus', this.controller.focus.kept());
            this.props.page.host.remember('scroll', this.scrolling.kept());
            keepHistories(this.controller.focus.views);
        });
        this.componentDidUpdate();
        whenLoaded('memory', () => this.forceUpdate());
        whenLoaded('lint', ({ CodeProblems }) => {
            this.controller.problems = new CodeProblems(this.controller);
        });
        preloadParts();
    }

    componentDidUpdate() {
        this.scrolling.onNotice();
        this.controller.onPainted(this.cells);
        this.scrolling.onPainted(this.cells);
        this.#begin();
    }

    /**
     * Sets the focus after loading. After a reload, it is where it was. If the address names a
     * state, nothing gets it, because a user who follows a link or returns reads first. Otherwise
     * it is the empty cell or, if nothing has run yet (as after an import), the first cell.
     */
    #begin() {
        const { page } = this.props;
        if (this.hasBegun || !page.isLoaded) return;
        this.hasBegun = true;
        if (this.wantsExample && isEmpty(page, this.cells)) return this.#startExample();
        if (document.activeElement !== document.body) return;
        const kept = isReload() && page.host.recall('focus');
        const isRestored = kept && this.controller.focus.restore(kept);
        if (isReload()) this.scrolling.restore(page.host.recall('scroll'));
        if (isRestored || !this.beganWithoutState) return;
        const [first, second] = this.cells;
        const isUnread = this.cells.every(({ kind }) => kind === 'draft');
        if (first && second && isUnread) this.controller.focus.cell(first.key);
        else this.controller.focus.fresh();
    }

    /**
     * What dragged files are over. Only pictures can be dropped into a text.
     * @param {import('../ui/file-drop.js').Point} at
     * @param {string[]} types
     */
    #overWhat(at, types) {
        if (elementAt(at, FILES)) return 'files';
        const arePictures = types.length > 0 && types.every((type) => type.startsWith('image/'));
        return arePictures && elementAt(at, TEXT) ? 'text' : 'page';
    }

    /** @param {boolean} showsGraph */
    #showGraph(showsGraph) {
        const { page } = this.props;
        if (showsGraph && matchMedia(NARROW).matches) this.#closeRight();
        page.host.remember('showsGraph', showsGraph);
        this.setState({ showsGraph });
    }

    /** Adds the example to the notebook, and shows its guide. */
    #startExample() {
        const { page } = this.props;
        void withPart('example', page, async ({ addExample }) => {
            const key = await addExample(page);
            if (key === null) return;
            this.#showGuide(true);
            this.controller.focus.go({ key });
        });
    }

    /** @param {boolean} showsGuide */
    #showGuide(showsGuide) {
        this.props.page.host.remember('showsGuide', showsGuide);
        this.setState({ showsGuide });
    }

    /** @param {boolean} isWanted */
    #showVariables(isWanted) {
        this.#makeRoom(isWanted);
        this.props.page.variables.show(isWanted);
    }

    /** @param {boolean} isWanted */
    #showFiles(isWanted) {
        this.#makeRoom(isWanted);
        this.props.page.files.show(isWanted);
    }

    /** @param {boolean} isWanted */
    #showOutline(isWanted) {
        this.#makeRoom(isWanted);
        this.#keepOutline(isWanted);
    }

    /** @param {boolean} showsOutline */
    #keepOutline(showsOutline) {
        this.props.page.host.remember('showsOutline', showsOutline);
        this.setState({ showsOutline });
    }

    /** @param {boolean} isWanted whether a pane on the right will be shown */
    #makeRoom(isWanted) {
        if (isWanted && matchMedia(NARROW).matches && this.state.showsGraph) this.#showGraph(false);
        this.#closeRight();
    }

    /** The panes on the right share one place. They cover the kept outputs. */
    #closeRight() {
        const { variables, files } = this.props.page;
        if (variables.isShown) variables.show(false);
        if (files.isShown) files.show(false);
        if (this.state.showsOutline) this.#keepOutline(false);
    }

    /** Ends following another person when the user acts in the notebook or presses Escape. */
    #watchActs() {
        const { following } = this.props.page;
        const isIn = (/** @type {EventTarget | null} */ target, /** @type {string} */ places) =>
            target instanceof Element && target.closest(places) !== null;
        const isInside = (/** @type {Event} */ { target }) => isIn(target, 'main, .graph-pane');
        addEventListener('pointerdown', (event) => isInside(event) && following.stop(), true);
        const onKey = (/** @type {KeyboardEvent} */ event) => {
            if (isIn(event.target, 'dialog') || MODIFIERS.includes(event.key)) return;
            if (event.key !== 'Escape' && !isInside(event)) return;
            if (!following.stop() || event.key !== 'Escape') return;
            event.preventDefault();
            event.stopPropagation();
        };
        addEventListener('keydown', onKey, true);
    }

    render() {
        const { page, rev } = this.props;
        const { showsGraph, showsOutline, showsGuide, over } = this.state;
        const { finder } = this.controller;
        this.cells = page.isLoaded ? page.cells() : [];
        this.sections = this.controller.sections.of(this.cells);
        const isCovered = page.variables.isShown || page.files.isShown || showsOutline;
        const waiting = page.mayRun ? page.ownRuns.runnable(undefined, this.cells) : [];
        // The comparison takes the focus only after it has loaded, so remember the focus now.
        this.beforeComparing = page.comparison.isOpen
            ? (this.beforeComparing ?? document.activeElement)
            : null;
        return html`
            <div class="app" data-graph=${showsGraph ? '' : null}
                data-right=${isCovered || page.kept.length ? '' : null}>
                <${Header} page=${page} controller=${this.controller} showsGraph=${showsGraph}
                    showsOutline=${showsOutline} />
                <${Banner} page=${page} onPython=${() => this.controller.showPython()} code=${() =>
                    this.cells
                        .map(textOf)
                        .filter((text) => text.trim())
                        .join('\n\n# %%\n')}>${
                    showsGuide &&
                    html`<${LazyPart} key="guide" of="example" view=${guide} page=${page} rev=${rev}
                            onFailed=${() => this.#showGuide(false)} onClose=${() => this.#showGuide(false)} />`
                }<//>
                ${
                    showsGraph &&
                    html`<nav class="side graph-pane" aria-label=${WORDS.graph}>
                    <${Graph} page=${page} controller=${this.controller} stamp=${graphStamp(page)} />
                </nav>`
                }
                <main class="cells-pane" inert=${page.comparison.isOpen}
                    data-colour=${page.following.person?.colour}
                    data-notice=${page.notice ? '' : null}
                    ref=${(/** @type {HTMLElement | null} */ main) => (this.main = main)}
                    onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.controller.onCellKey(event)}>
                    <div class="notebook" aria-busy=${page.isLoaded ? 'false' : 'true'}>
                        ${this.#column(waiting)}
                        <${After} page=${page} controller=${this.controller}
                            onExample=${isEmpty(page, this.cells) ? () => this.#startExample() : null} />
                    </div>
                    <div id="tips"></div>
                    <${FollowOutput} />
                </main>
                ${
                    page.comparison.isOpen &&
                    html`<${LazyPart} key="compare" of="compare" view=${compare} meanwhile=${LOADING}
                    onFailed=${() => page.comparison.close()} page=${page} controller=${this.controller}
                    back=${this.beforeComparing} rev=${rev} />`
                }
                ${
                    page.branchTable.isOpen &&
                    html`<${LazyPart} key="branches" of="branches" view=${branches}
                    onFailed=${() => page.branchTable.close()} page=${page} rev=${rev} />`
                }
                ${
                    finder?.isOpen &&
                    html`<${LazyPart} key="finder" of="finder" view=${findPanel}
                    onFailed=${() => {}} page=${page} finder=${finder} />`
                }
                ${
                    page.variables.isShown &&
                    html`<${LazyPart} key="variables" of="variables"
                    view=${variablesPane} onFailed=${() => page.variables.show(false)} page=${page}
                    rev=${rev} />`
                }
                ${
                    page.files.isShown &&
                    html`<${LazyPart} key="files" of="files" view=${filesPane}
                    onFailed=${() => page.files.show(false)} page=${page} rev=${rev} />`
                }
                ${
                    showsOutline &&
                    html`<${LazyPart} key="outline" of="outline" view=${outlinePane}
                    onFailed=${() => this.#showOutline(false)} page=${page} controller=${this.controller}
                    cells=${this.cells} sections=${this.sections} rev=${rev} />`
                }
                ${
                    page.kept.length > 0 &&
                    html`<${LazyPart} key="kept" of="kept" view=${keptPane} onFailed=${() => {}} page=${page}
                    controller=${this.controller} cells=${this.cells} isCovered=${isCovered} rev=${rev} />`
                }
                <${Notice} page=${page} />
                <div id="said" class="visually-hidden" role="status"></div>
                ${over && html`<${DropOverlay} ...${DROP[over]} />`}
            </div>`;
    }

    /**
     * The cells, and the button that runs the drafts. The list is flat, so that a cell keeps its
     * element when it moves.
     * @param {Extract<import('./cell-list.js').Cell, {kind: 'draft'}>[]} waiting
     */
    #column(waiting) {
        const column = this.cells.map((cell) => this.#cell(cell));
        const rest = this.controller.runs.restCount(waiting);
        if (waiting.length < 2 && !rest) return column;
        const run = html`<div key="batch" class="batch">${
            rest ? this.#replay(waiting) : this.#runThese(waiting, WORDS.runThese(waiting.length))
        }</div>`;
        column.splice(
            this.cells.findIndex((cell) => cell.key === waiting[0]?.key),
            0,
            run,
        );
        return column;
    }

    /**
     * The buttons that replay cells. Those that failed or were stopped have a button of their own.
     * @param {Extract<import('./cell-list.js').Cell, {kind: 'draft'}>[]} waiting
     */
    #replay(waiting) {
        const good = this.props.page.ownRuns.replayable(waiting);
        const failed = waiting.length - good.length;
        return [
            good.length > 0 &&
                html`<button class="button" data-frame title=${EDITOR_WORDS.replayRestHint}
                onClick=${() => this.controller.runs.replay(good)}>${EDITOR_WORDS.replayRest(good.length)}</button>`,
            failed > 0 && this.#runThese(waiting, EDITOR_WORDS.replayAll(waiting.length, failed)),
        ];
    }

    /**
     * @param {Extract<import('./cell-list.js').Cell, {kind: 'draft'}>[]} waiting
     * @param {string} text
     */
    #runThese(waiting, text) {
        return html`<button class="button" data-frame
            onClick=${() => this.controller.runs.waiting(waiting)}>${text}</button>`;
    }

    /** @param {import('./cell-list.js').Cell} cell */
    #cell(cell) {
        const { page } = this.props;
        const isStopping = page.ownRuns.stopping.has(runOf(cell)?.exec_id ?? '');
        const isHidden = this.sections.hidden.has(cell.key);
        const section = this.sections.byKey.get(cell.key);
        const sweep = memberOf(page.model.sweeps, runOf(cell)?.exec_id)?.sweep;
        const inputs = [...renderInputs(cell), isHidden, sweep?.rev, ...sectionInputs(section)];
        return html`<${Cell} key=${cell.key} cell=${cell} inputs=${inputs} mayRun=${page.mayRun}
            isHidden=${isHidden} section=${section} mayType=${page.scope !== 'view'} isStopping=${isStopping} controller=${this.controller} />`;
    }
}

/**
 * What a heading's cell shows of its section.
 * @param {import('./sections.js').Section} [section]
 */
const sectionInputs = (section) =>
    section ? [section.isFolded, section.count, section.open, section.failed] : [];

/**
 * Whether a notebook has nothing but the empty cell, and the user may start the example, which
 * writes a file.
 * @param {import('./page.js').Page} page
 * @param {import('./cell-list.js').Cell[]} cells
 */
const isEmpty = (page, cells) =>
    page.scope === 'owner' && page.mayRun && page.model.states.size === 1 && cells.length === 1;

/**
 * The part below the cells of the current state: its continuations, or why there are none; in an
 * empty notebook, the offer of an example.
 * @param {{page: import('./page.js').Page, controller: CellController,
 *   onExample: (() => void) | null}} props
 */
function After({ page, controller, onExample }) {
    const state = page.model.states.get(page.here);
    if (!state) return null;
    const next = page.model
        .childrenOf(state.id)
        .filter(
            (child) =>
                child.living !== 'deleted' && !page.pendingDeletion.has(child.id) && !page.model.isRow(child),
        );
    const sweeps = [...page.model.sweeps.values()].filter(({ at }) => at === state.id);
    const names = numbered(next.map(({ id }) => page.nameOf(id)));
    return html`
        <div class="after">
            ${state.living === 'deleted' && html`<p class="hint">${WORDS.deletedState}</p>`}
            ${
                onExample &&
                html`<p class="example"><button class="button" data-frame onClick=${onExample}>${WORDS.startExample}</button>
                <span class="hint">${WORDS.startExampleHint}</span></p>`
            }
            ${
                next.length + sweeps.length > 0 &&
                html`<p class="continuations" title=${WORDS.goesOnHint}><span>${WORDS.goesOn}</span>
                ${next.map(
                    (child, i) => html`<button key=${child.id} class="text-button"
                    onClick=${() => controller.goOn(page.model.newestBelow(child.id))}>
                    <${Name} ...${names[i] ?? { name: '' }} /></button>`,
                )}${sweeps.map(
                    (sweep) => html`<button key=${sweep.id} class="text-button"
                    onClick=${() => void showSweep(page, sweep.id)}>${ROW_WORDS.sweep(sweep)}</button>`,
                )}</p>`
            }
        </div>`;
}

/**
 * @param {{page: import('./page.js').Page, code: () => string, onPython: () => void,
 *   children?: any}} props `children`: the guide of the example
 */
function Banner({ page, code, onPython, children }) {
    const { connection, model } = page;
    const isOver = connection === 'ended' || connection === 'gone';
    const calm =
        connection === 'waiting'
            ? WORDS.offlineLong
            : !isOver && model.trouble
              ? WORDS.trouble(model.trouble)
              : null;
    const copy = () => copyText(page, code(), { said: WORDS.allCopied, title: WORDS.allReady });
    // Screen readers announce a live region only if it exists before its content.
    return html`
        <div class="banners">
            <${FollowingBar} page=${page} />
            ${children}
            <div role="status">${
                calm &&
                html`<div class="banner">${calm} ${
                    connection === 'waiting' &&
                    html`<button class="text-button" onClick=${() => page.host.reconnect?.()}>
                        ${WORDS.retryNow}</button>`
                }</div>`
            }</div>
            ${
                !isOver &&
                model.python?.problem &&
                html`<div class="banner" role="alert">${WORDS.sentence(model.python.problem)} ${
                    page.scope === 'owner' &&
                    html`<button class="text-button" onClick=${onPython}>
                    ${PYTHON_STATUS_WORDS.change}</button>`
                }</div>`
            }
            ${
                !isOver &&
                page.ownScope !== 'view' &&
                model.offsite?.phase === 'held' &&
                html`<div class="banner" role="alert">${SAVE_WORDS.heldLong(model.offsite)} ${
                    page.ownScope === 'owner' &&
                    html`<button class="text-button" title=${SAVE_WORDS.takeOverHint}
                        onClick=${() => page.takeOver()}>${SAVE_WORDS.takeOver}</button>`
                }</div>`
            }
            ${
                connection === 'left' &&
                html`<${LazyPart} of="gone" view=${notebookGone} page=${page} onFailed=${() => {}}
                    copy=${copy} />`
            }
            ${
                isOver &&
                html`<div class="banner" data-bad role="alert">
                ${WORDS[connection]} ${
                    page.isLoaded &&
                    html`<button class="text-button" onClick=${copy}>
                    ${WORDS.copyAll}</button>`
                }</div>`
            }
        </div>`;
}

/** The texts of the overlay, by what the dragged files are over. */
const DROP = {
    files: { title: WORDS.dropUpload, hint: WORDS.dropUploadHint },
    text: { title: WORDS.dropText, hint: WORDS.dropTextHint },
    page: { title: WORDS.dropFiles, hint: WORDS.dropHintHere },
};

/** @param {{page: import('./page.js').Page}} props */
function Notice({ page }) {
    const { notice } = page;
    return html`<div class="notice" role=${notice?.isBad ? 'alert' : 'status'}
        data-bad=${notice?.isBad ? '' : null} data-open=${notice ? '' : null}>
        ${
            notice &&
            html`<span>${notice.text}</span>
            ${[notice.act, notice.other].map(
                (one) =>
                    one &&
                    html`<button class="text-button"
                onClick=${() => (page.dismissNotice(), one.act())}>${one.text}</button>`,
            )}
                <button class="text-button" onClick=${() => page.dismissNotice()}>${WORDS.close}</button>`
        }
    </div>`;
}
