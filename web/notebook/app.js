// @ts-check
// The whole page: header, graph, cells, variables, banners and notices.

import { firstLine } from '../text/format.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS } from '../editor/editor-words.js';
import { renderInputs, runOf, textOf } from './cell-list.js';
import { HOME_WORDS } from '../home/home-words.js';
import { WORDS } from '../shell/words.js';
import { Cell } from '../cell/cell.js';
import { copyText } from '../ui/copy.js';
import { CellDrag } from '../cell/cell-drag.js';
import { watchDrops, offerImport, DropOverlay } from '../ui/file-drop.js';
import { FollowOutput } from './follow-output.js';
import { keepPointerSteady } from './steady-pointer.js';
import { Graph, graphStamp } from '../graph/graph.js';
import { Header } from './header.js';
import { NotebookGone } from './notebook-gone.js';
import { CellController } from '../cell/cell-controller.js';
import { LazyPart, preloadParts } from '../shell/lazy-parts.js';

/** In narrow windows the graph is above the cells, and initially closed. */
const NARROW = '(max-width: 600px)';
/** After navigation, how long content above the target cell may change its height, in ms. */
const SETTLING = 5000;
/** The gap between a notice and the cell above it, in px. */
const GAP = 8;

// The views of lazily loaded parts.
const compare = (/** @type {import('../shell/lazy-parts.js').Part<'compare'>} */ part) => part.Compare;
const findPanel = (/** @type {import('../shell/lazy-parts.js').Part<'finder'>} */ part) => part.FindPanel;
const variablesPane = (/** @type {import('../shell/lazy-parts.js').Part<'variables'>} */ part) =>
    part.VariablesPane;

/**
 * @extends {Component<{page: import('./page.js').Page, rev: number}, {showsGraph: boolean,
 *   isOver: boolean}>}
 */
export class App extends Component {
    state = {
        showsGraph: this.props.page.host.recall('showsGraph') ?? !matchMedia(NARROW).matches,
        isOver: false,
    };
    /**
     * Whether to focus a cell after loading. Not if the address names a state, because a user who
     * follows a link or returns reads first.
     */
    wantsToType = location.hash === '';
    controller = new CellController(this.props.page);
    /** @type {import('./cell-list.js').Cell[]} */
    cells = [];
    /** @type {string | null} */
    shownHere = null;
    /**
     * The cell navigated to, while the content above it may still change its height.
     * @type {{key: string, until: number} | null}
     */
    arrived = null;
    /** The focused element before a comparison opened. @type {Element | null} */
    beforeComparing = null;
    /** @type {HTMLElement | null} */
    main = null;
    /** The last notice shown. @type {import('./page.js').Notice | null} */
    noticed = null;

    componentDidMount() {
        document.addEventListener('keydown', (event) => this.controller.onGlobalKey(event));
        this.controller.watchFocus();
        this.controller.commands.panes = {
            graph: () => this.#showGraph(!this.state.showsGraph),
            variables: () => this.#showVariables(!this.props.page.variables.isShown),
        };
        const notebook = /** @type {HTMLElement | null | undefined} */ (
            this.main?.querySelector('.notebook')
        );
        if (notebook)
            new ResizeObserver(() => {
                this.controller.follow();
                this.#settle();
            }).observe(notebook);
        if (this.main && notebook) keepPointerSteady(this.main, notebook);
        this.main?.addEventListener('focusin', (event) =>
            this.controller.commands.onFocusIn(/** @type {Element} */ (event.target)),
        );
        if (this.main) new CellDrag(this.main, this.controller);
        watchDrops(
            (isOver) => this.state.isOver !== isOver && this.setState({ isOver }),
            (files) => offerImport(this.props.page, files),
        );
        for (const look of /** @type {const} */ (['wheel', 'touchmove', 'pointerdown']))
            this.main?.addEventListener(look, () => this.#leave(), { passive: true });
        this.componentDidUpdate();
        preloadParts();
    }

    componentDidUpdate() {
        this.#uncover();
        this.controller.onPainted(this.cells);
        this.#follow();
        this.#begin();
    }

    /**
     * After loading, focuses the empty cell or, if nothing has run yet (as after an import), the
     * first cell.
     */
    #begin() {
        if (!this.wantsToType || !this.props.page.isLoaded) return;
        this.wantsToType = false;
        if (document.activeElement !== document.body) return;
        const [first, second] = this.cells;
        const isUnread = this.cells.every(({ kind }) => kind === 'draft');
        if (first && second && isUnread) this.controller.focusCell(first.key);
        else this.controller.focusFresh();
    }

    /** @param {boolean} showsGraph */
    #showGraph(showsGraph) {
        const { page } = this.props;
        if (showsGraph && matchMedia(NARROW).matches && page.variables.isShown) page.variables.show(false);
        page.host.remember('showsGraph', showsGraph);
        this.setState({ showsGraph });
    }

    /** @param {boolean} isWanted */
    #showVariables(isWanted) {
        if (isWanted && matchMedia(NARROW).matches && this.state.showsGraph) this.#showGraph(false);
        this.props.page.variables.show(isWanted);
    }

    /**
     * Scrolls to the cell of the state navigated to. Does nothing if the focus is in the cells,
     * because the focused cell is already in view.
     */
    #follow() {
        const at = this.props.page.attempt ?? this.props.page.here;
        const before = this.shownHere;
        this.shownHere = at;
        if (before === at || this.main?.contains(document.activeElement)) return;
        const cell = this.cells.findLast(
            (one) =>
                (one.kind === 'ran' ? one.state.id : one.kind === 'attempt' ? one.run.exec_id : '') === at,
        );
        this.arrived = cell ? { key: cell.key, until: performance.now() + SETTLING } : null;
        this.#settle();
    }

    /** Scrolls the focused cell out from under a new notice. */
    #uncover() {
        const { notice } = this.props.page;
        if (notice === this.noticed) return;
        this.noticed = notice;
        const box = notice && document.querySelector('.notice')?.getBoundingClientRect();
        const cell = this.main?.contains(document.activeElement)
            ? document.activeElement?.closest('.cell')?.getBoundingClientRect()
            : null;
        if (!box || !cell || !this.main) return;
        const { top } = this.main.getBoundingClientRect();
        // If the cell is taller than the pane, keep its beginning in view.
        const by = Math.min(cell.bottom + GAP - box.top, cell.top - top);
        if (cell.top < box.bottom && by > 0) this.main.scrollTop += by;
    }

    /** Keeps the target cell in view while tables and pictures above it load. */
    #settle() {
        const { arrived, main } = this;
        if (!arrived || !main) return;
        if (performance.now() > arrived.until || main.contains(document.activeElement)) this.arrived = null;
        else
            main.querySelector(`[data-cell="${CSS.escape(arrived.key)}"]`)?.scrollIntoView({
                block: 'nearest',
            });
    }

    /** The user scrolls: stops all automatic scrolling. */
    #leave() {
        this.arrived = null;
        this.controller.unfollow();
    }

    render() {
        const { page, rev } = this.props;
        const { showsGraph, isOver } = this.state;
        const { finder } = this.controller.commands;
        this.cells = page.isLoaded ? page.cells() : [];
        const waiting = page.mayRun ? page.runnable(undefined, this.cells) : [];
        // Remembered now: the comparison takes the focus, but may still be loading.
        this.beforeComparing = page.comparison.pair ? (this.beforeComparing ?? document.activeElement) : null;
        return html`
            <div class="app" data-graph=${showsGraph ? '' : null}
                data-variables=${page.variables.isShown ? '' : null}>
                <${Header} page=${page} showsGraph=${showsGraph} onGraph=${() => this.#showGraph(!showsGraph)}
                    onVariables=${() => this.#showVariables(!page.variables.isShown)}
                    onPalette=${() => this.controller.commands.showPalette()}
                    onRestart=${() => this.controller.commands.restart()} />
                <${Banner} page=${page} code=${() =>
                    this.cells
                        .map(textOf)
                        .filter((text) => text.trim())
                        .join('\n\n# %%\n')} />
                ${
                    showsGraph &&
                    html`<nav class="side graph-pane" aria-label=${WORDS.graph}>
                    <${Graph} page=${page} controller=${this.controller} stamp=${graphStamp(page)} />
                </nav>`
                }
                <main class="cells-pane" inert=${page.comparison.pair !== null}
                    ref=${(/** @type {HTMLElement | null} */ main) => (this.main = main)}
                    onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.controller.onCellKey(event)}>
                    <div class="notebook" aria-busy=${page.isLoaded ? 'false' : 'true'}>
                        ${this.#column(waiting)}
                        <${After} page=${page} controller=${this.controller} />
                    </div>
                    <div id="tips"></div>
                    <div id="said" class="visually-hidden" role="status"></div>
                    <${FollowOutput} />
                </main>
                ${
                    page.comparison.pair &&
                    html`<${LazyPart} key="compare" of="compare" view=${compare}
                    onFailed=${() => page.comparison.close()} page=${page} controller=${this.controller}
                    back=${this.beforeComparing} rev=${rev} />`
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
                <${Notice} page=${page} />
                ${isOver && html`<${DropOverlay} hint=${HOME_WORDS.dropHintHere} />`}
            </div>`;
    }

    /**
     * The cells, and the button that runs the drafts. The list is flat, so that a cell keeps its
     * element when it moves.
     * @param {Extract<import('./cell-list.js').Cell, {kind: 'draft'}>[]} waiting
     */
    #column(waiting) {
        const column = this.cells.map((cell) => this.#cell(cell));
        const rest = this.controller.commands.restCount(waiting);
        if (waiting.length < 2 && !rest) return column;
        const text = rest ? EDITOR_WORDS.replayRest(rest) : WORDS.runThese(waiting.length);
        const run = html`<div key="batch" class="batch">
            <button class=${rest ? 'button' : 'text-button'} data-frame=${rest ? '' : null}
                title=${rest ? EDITOR_WORDS.replayRestHint : null}
            onClick=${() => this.controller.runAll(waiting)}>${text}</button></div>`;
        column.splice(
            this.cells.findIndex((cell) => cell.key === waiting[0]?.key),
            0,
            run,
        );
        return column;
    }

    /** @param {import('./cell-list.js').Cell} cell */
    #cell(cell) {
        const { page } = this.props;
        const isStopping = page.stoppingRuns.has(runOf(cell)?.exec_id ?? '');
        return html`<${Cell} key=${cell.key} cell=${cell} inputs=${renderInputs(cell)} mayRun=${page.mayRun}
            mayType=${page.scope !== 'view'} isStopping=${isStopping} controller=${this.controller} />`;
    }
}

/**
 * The part below the cells of the current state: its continuations, or why there are none.
 * @param {{page: import('./page.js').Page, controller: CellController}} props
 */
function After({ page, controller }) {
    const state = page.model.states.get(page.here);
    if (!state) return null;
    const next = page.model
        .childrenOf(state.id)
        .filter((child) => child.living !== 'deleted' && !page.pendingDeletion.has(child.id));
    const name = (/** @type {typeof state} */ child) =>
        child.label ?? firstLine(page.model.runOf(child)?.code ?? '');
    return html`
        <div class="after">
            ${state.living === 'deleted' && html`<p class="hint">${WORDS.deletedState}</p>`}
            ${
                next.length > 0 &&
                html`<p class="continuations"><span>${WORDS.goesOn}</span>
                ${next.map(
                    (child) => html`<button key=${child.id} class="text-button"
                    onClick=${() => controller.goOn(page.model.newestBelow(child.id))}>
                    ${name(child)}</button>`,
                )}</p>`
            }
        </div>`;
}

/** @param {{page: import('./page.js').Page, code: () => string}} props */
function Banner({ page, code }) {
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
            <div role="status">${calm && html`<div class="banner">${calm}</div>`}</div>
            ${connection === 'left' && html`<${NotebookGone} page=${page} copy=${copy} />`}
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

/** @param {{page: import('./page.js').Page}} props */
function Notice({ page }) {
    const { notice } = page;
    return html`<div class="notice" role=${notice?.isBad ? 'alert' : 'status'}
        data-bad=${notice?.isBad ? '' : null} data-open=${notice ? '' : null}>
        ${
            notice &&
            html`<span>${notice.text}</span>
            ${
                notice.act &&
                html`<button class="text-button"
                onClick=${() => (page.dismissNotice(), notice.act?.act())}>${notice.act.text}</button>`
            }
                <button class="text-button" onClick=${() => page.dismissNotice()}>${WORDS.close}</button>`
        }
    </div>`;
}
