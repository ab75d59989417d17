// @ts-check
// The view that compares the code, variables and outputs of states. Replaces the cells. Two states
// are compared line by line; many-view.js shows the sections of more.

import { compareCells, compareOutputs, compareVariables, MOST_LINES } from './differences.js';
import { Component, html } from '../vendor/preact.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';
import { ComparedState, whyNoVariables } from './compared-state.js';
import { manySections } from './many-view.js';
import { addToComparison } from './state-picker.js';
import { comparedNames } from './state-names.js';
import { fullName } from '../graph/node-names.js';
import { withPart } from '../shell/lazy-parts.js';
import { OutputsSideBySide } from './outputs-side-by-side.js';
import { ComparedVariables } from './variable-differences.js';
import { Diff, Sign } from './diff-view.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('../shell/protocol.js').State} State */

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
        // Wait until this view is removed: only then can an element of the notebook get the focus.
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
        const states = page.comparison.states.flatMap((id) => page.model.states.get(id) ?? []);
        const [a, b] = states;
        if (!a || !b) return null;
        const isPair = states.length === 2;
        const names = comparedNames(page, states);
        return html`
            <main class="compare" aria-label=${SAY.title(states.length)} data-many=${isPair ? null : ''}
                tabindex="-1"
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                <div class="compare-page" style=${`--count:${states.length}`}>
                    <div class="compare-top">
                        <h2 tabindex="-1" aria-description=${SAY.sides(names.map(fullName))}
                            ref=${(/** @type {HTMLElement | null} */ title) => (this.title = title)}>
                            ${SAY.title(states.length)}</h2>
                        ${
                            isPair &&
                            html`<button class="button" data-frame onClick=${() => page.comparison.swap()}>
                            ${SAY.swap}</button>`
                        }
                        <button class="button" data-frame onClick=${() => void addToComparison(page)}>
                            ${SAY.add}</button>
                        <button class="button" data-frame title=${SAY.closeHint}
                            onClick=${() => page.comparison.close()}>${SAY.close}</button>
                    </div>
                    <div class=${isPair ? 'sides' : 'sides many'}>${states.map(
                        (state, at) => html`<${ComparedState} key=${state.id} page=${page} at=${at}
                        state=${state} told=${names[at] ?? { name: '' }} side=${isPair ? (at ? 'b' : 'a') : undefined} />`,
                    )}</div>
                    ${this.#sections(page, states, a, b)}
                </div>
            </main>`;
    }

    /**
     * The sections for code, variables and outputs. Cached, because most paints do not change the
     * compared states.
     * @param {Page} page
     * @param {State[]} states
     * @param {State} a the first state
     * @param {State} b the second state
     */
    #sections(page, states, a, b) {
        const known = states.map(({ id }) => page.variables.known.get(id));
        const told = (/** @type {State} */ state, /** @type {number} */ i) => [
            state.id,
            state.living,
            page.model.runOf(state)?.rev,
            page.checkpoints.progressOf(state.id),
            known[i] === undefined || typeof known[i],
            known[i]?.length,
        ];
        const stamp = JSON.stringify([states.map(told), page.mayRun, page.model.graphRev]);
        if (stamp === this.stamp) return this.content;
        this.stamp = stamp;
        const { controller } = this.props;
        if (states.length > 2) {
            this.content = manySections(page, controller, states, known);
            return this.content;
        }
        const pair = { a: a.id, b: b.id };
        const found = compareCells(page.model, pair);
        this.content = [
            html`<${CodeSection} key="code" page=${page} ...${found} />`,
            html`<${VariablesSection} key=${`variables ${a.id} ${b.id}`} page=${page} a=${a} b=${b}
                before=${known[0]} after=${known[1]} />`,
            html`<${OutputsSection} key="outputs" controller=${controller}
                pairs=${compareOutputs(page.model, pair, found.cells)} />`,
        ];
        return this.content;
    }
}

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
                ${ancestor && SAY.shared(shared, fullName(page.nameOf(ancestor.id)))} ${
                    differing.length === 0 && SAY.sameLine
                }</p>
            ${folded(cells).map((cell) =>
                Array.isArray(cell)
                    ? html`<p class="hint equal-cells">
                ${SAY.equalCells(cell.length)}: ${cell
                    .map((one) => fullName(page.nameOf(one.b.id)))
                    .join(' · ')}</p>`
                    : html`<${CellDiff} cell=${cell} />`,
            )}
        </section>`;
}

/** @typedef {Extract<import('./differences.js').CellPair, {sign: '='}>} Equal */

/**
 * Groups consecutive equal cells into lists.
 * @param {import('./differences.js').CellPair[]} cells
 */
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
    const obstacles = [whyNoVariables(page, 'A', a, before), whyNoVariables(page, 'B', b, after)].filter(
        Boolean,
    );
    const take = (/** @type {string | null} */ name) =>
        void withPart('take', page, (part) => part.takeVariables(page, a.id, b.id, name));
    return html`
        <section>
            <h3>${SAY.variables}</h3>
            ${obstacles.length > 0 && html`<div role="status">${obstacles}</div>`}
            ${
                isThere &&
                html`<${ComparedVariables} found=${compareVariables(before, after)}
                take=${page.mayRun ? take : null} />`
            }
        </section>`;
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
