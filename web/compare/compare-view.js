// @ts-check
// Compares two states side by side, in place of the cells: code, variables and outputs.

import { compareCells, compareOutputs, compareVariables, MOST_LINES, nameOf } from './differences.js';
import { missingOf, lacksNames } from '../checkpoints/residency.js';
import { canRun } from '../shell/protocol.js';
import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { OutputsSideBySide } from './outputs-side-by-side.js';
import { ComparedVariables } from './variable-differences.js';
import { Diff, Sign } from './diff-view.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {'a' | 'b'} Side */

/**
 * @extends {Component<{page: Page, controller: import('../cell/cell-controller.js').CellController,
 *   back: Element | null, rev: number}, {}>}
 */
export class Compare extends Component {
    /** @type {HTMLElement | null} */
    title = null;
    stamp = '';
    /** @type {any} */
    content = null;

    componentDidMount() {
        this.title?.focus({ preventScroll: true });
        this.componentDidUpdate();
    }

    componentDidUpdate() {
        this.props.page.comparison.fetchVariables();
    }

    componentWillUnmount() {
        const { back } = this.props;
        // The notebook can take the focus only after this view is removed.
        setTimeout(
            () =>
                back instanceof HTMLElement &&
                back.isConnected &&
                document.activeElement === document.body &&
                back.focus(),
        );
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        if (event.key !== 'Escape' || event.defaultPrevented) return;
        event.preventDefault();
        this.props.page.comparison.close();
    }

    /**
     * @param {{page: Page, controller: import('../cell/cell-controller.js').CellController,
     *   back: Element | null, rev: number}} props
     */
    render({ page }) {
        const { pair } = page.comparison;
        const a = page.model.states.get(pair?.a ?? '');
        const b = page.model.states.get(pair?.b ?? '');
        if (!pair || !a || !b) return null;
        return html`
            <main class="compare" aria-label=${SAY.title}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                <div class="compare-page">
                    <div class="compare-top">
                        <h2 tabindex="-1"
                            ref=${(/** @type {HTMLElement | null} */ title) => (this.title = title)}>
                            ${SAY.title}</h2>
                        <button class="button" data-frame onClick=${() => page.comparison.swap()}>
                            ${SAY.swap}</button>
                        <button class="button" data-frame title=${SAY.closeHint}
                            onClick=${() => page.comparison.close()}>${SAY.close}</button>
                    </div>
                    <div class="sides"><${ComparedState} page=${page} side="a" state=${a} other=${b} />
                    <${ComparedState} page=${page} side="b" state=${b} other=${a} /></div>
                    ${this.#sections(page, pair, a, b)}
                </div>
            </main>`;
    }

    /**
     * Cached, because the page paints far more often than the compared states change.
     * @param {Page} page
     * @param {import('./differences.js').Pair} pair
     * @param {State} a
     * @param {State} b
     */
    #sections(page, pair, a, b) {
        const [before, after] = [page.variables.known.get(a.id), page.variables.known.get(b.id)];
        const told = (/** @type {State} */ state) => [
            state.id,
            state.living,
            page.model.runOf(state)?.rev,
            page.checkpoints.progressOf(state.id),
        ];
        const stamp = JSON.stringify([
            told(a),
            told(b),
            before === undefined || typeof before,
            after === undefined || typeof after,
            before?.length,
            after?.length,
            page.mayRun,
            page.model.graphRev,
        ]);
        if (stamp !== this.stamp) {
            this.stamp = stamp;
            const found = compareCells(page.model, pair);
            this.content = [
                html`<${CodeSection} key="code" page=${page} ...${found} />`,
                html`<${VariablesSection} key=${`variables ${pair.a} ${pair.b}`} page=${page} a=${a} b=${b}
                    before=${before} after=${after} />`,
                html`<${OutputsSection} key="outputs" controller=${this.props.controller}
                    pairs=${compareOutputs(page.model, pair, found.cells)} />`,
            ];
        }
        return this.content;
    }
}

/** The header of one side. @param {{page: Page, side: Side, state: State, other: State}} props */
function ComparedState({ page, side, state, other }) {
    const go = () => page.goTo(state.id);
    return html`
        <div class="side-card" data-side=${side} role="group" aria-label=${SAY.sideName[side]}>
            <span class="letter" aria-hidden="true">${SAY.side[side]}</span>
            <div class="card-what">
                <span class=${state.label ? 'card-name' : 'card-name card-code'}>
                    ${nameOf(page.model, state, other)}</span>
                <span class="hint">${state.parent !== null && `${SAY.cell(state.exec_count)} · `}
                <time datetime=${new Date(state.created_at).toISOString()}>
                    ${when(state.created_at)}</time></span>
            </div>
            <button class="text-button" title=${SAY.goHint} onClick=${go}>${SAY.go}</button>
        </div>`;
}

/** @param {number} time */
const when = (time) => new Date(time).toLocaleString([], { dateStyle: 'medium', timeStyle: 'medium' });

/**
 * @param {{page: Page, ancestor: State | null, shared: number,
 *   cells: import('./differences.js').CellPair[]}} props
 */
function CodeSection({ page, ancestor, shared, cells }) {
    const differing = cells.filter(({ sign }) => sign !== '=');
    return html`
        <section>
            <h3>${SAY.code}</h3>
            <p class="hint">
                ${ancestor && SAY.shared(shared, nameOf(page.model, ancestor))} ${
                    differing.length === 0 && SAY.sameLine
                }</p>
            ${folded(cells).map((cell) =>
                Array.isArray(cell)
                    ? html`<p class="hint equal-cells">
                ${SAY.equalCells(cell.length)}: ${cell
                    .map((one) => nameOf(page.model, one.b))
                    .join(' · ')}</p>`
                    : html`<${CellDiff} cell=${cell} />`,
            )}
        </section>`;
}

/** @typedef {Extract<import('./differences.js').CellPair, {sign: '='}>} Equal */

/** Joins consecutive equal cells. @param {import('./differences.js').CellPair[]} cells */
function folded(cells) {
    /** @type {(Equal[] | Exclude<import('./differences.js').CellPair, {sign: '='}>)[]} */
    const all = [];
    for (const cell of cells) {
        const last = all.at(-1);
        if (cell.sign !== '=') all.push(cell);
        else if (Array.isArray(last)) last.push(cell);
        else all.push([cell]);
    }
    return all;
}

/** @param {{cell: Exclude<import('./differences.js').CellPair, {sign: '='}>}} props */
function CellDiff({ cell }) {
    const title =
        cell.sign === '~'
            ? SAY.cellChanged(cell.a.exec_count, cell.b.exec_count)
            : SAY.cellOnly(cell.state.exec_count);
    const rows =
        cell.sign === '~'
            ? cell.rows
            : cell.code
                  .replace(/\n$/, '')
                  .split('\n')
                  .map((text, i) => ({
                      sign: cell.sign,
                      a: cell.sign === '-' ? i + 1 : null,
                      b: cell.sign === '+' ? i + 1 : null,
                      parts: [{ text, isMarked: false }],
                  }));
    return html`
        <div class="compare-cell" data-sign=${cell.sign}>
            <h4><${Sign} sign=${cell.sign} /> ${title}</h4>
            <${Diff} rows=${rows} label=${`${title}: ${SAY.sign[cell.sign]}`} />
        </div>`;
}

/** @param {{page: Page, a: State, b: State, before: any, after: any}} props */
function VariablesSection({ page, a, b, before, after }) {
    const isThere = Array.isArray(before) && Array.isArray(after);
    const obstacles = [whyNoVariables(page, 'a', a, before), whyNoVariables(page, 'b', b, after)].filter(
        Boolean,
    );
    return html`
        <section>
            <h3>${SAY.variables}</h3>
            ${obstacles.length > 0 && html`<div role="status">${obstacles}</div>`}
            ${isThere && html`<${ComparedVariables} found=${compareVariables(before, after)} />`}
        </section>`;
}

/**
 * Why the variables of a side are missing or incomplete.
 * @param {Page} page
 * @param {Side} side
 * @param {State} state
 * @param {import('../shell/protocol.js').Variable[] | string | null | undefined} known
 */
function whyNoVariables(page, side, state, known) {
    const name = SAY.side[side];
    if (state.living === 'deleted') return html`<p class="hint">${SAY.isGone(name)}</p>`;
    if (!canRun(state.living)) {
        const isComing = page.checkpoints.progressOf(state.id);
        return html`<p class="hint">
            ${isComing ? SAY.looking(name) : SAY.needsReplay(name)} ${
                page.mayRun &&
                !isComing &&
                html`<button
                class="button" data-frame onClick=${() => page.checkpoints.replay(state.id)}>
                ${SAY.replay(name)}</button>`
            }</p>`;
    }
    if (typeof known === 'string') return html`<p class="hint">${SAY.failed(name, known)}</p>`;
    if (!known) return html`<p class="hint">${SAY.looking(name)}</p>`;
    return lacksNames(state) && html`<p class="hint">${SAY.lacks(name, missingOf(state).length)}</p>`;
}

/**
 * @param {{controller: import('../cell/cell-controller.js').CellController,
 *   pairs: import('./differences.js').OutputPair[]}} props
 */
function OutputsSection({ controller, pairs }) {
    return html`
        <section>
            <h3>${SAY.outputs}</h3>
            ${pairs.map((pair) => {
                const title = pair.isTip ? SAY.tips : SAY.cellChanged(pair.a.exec_count, pair.b.exec_count);
                return html`<div class="compare-output" key=${`${pair.a.id} ${pair.b.id}`}>
                    <h4>${title}</h4>
                    ${
                        pair.rows
                            ? html`<${Diff} rows=${pair.rows} label=${`${SAY.outputs}, ${title}`} />
                            ${pair.isCut && html`<p class="hint">${SAY.cutShort(MOST_LINES)}</p>`}`
                            : html`<${OutputsSideBySide} pair=${pair} controller=${controller} />`
                    }
                </div>`;
            })}
        </section>`;
}
