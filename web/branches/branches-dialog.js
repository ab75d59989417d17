// @ts-check
// The table of branches, as a dialog. It evaluates its expressions at each state in memory, and at
// states on disk when the user asks for it. Chosen rows can be compared.

import { Component, html } from '../vendor/preact.js';
import { WORDS as ALL } from '../shell/words.js';
import { canRun } from '../shell/protocol.js';
import { CloseIcon, DownIcon, UpIcon } from '../ui/icons.js';
import { BRANCHES_WORDS as WORDS } from './branches-words.js';
import { MAX_COLUMNS } from './branch-table.js';
import {
    BY_DURATION,
    BY_MEMORY,
    BY_NAME,
    BY_TIME,
    branchRows,
    differingCode,
    extremeStates,
    failedVariants,
    hasPicture,
    inOrder,
    isNowhere,
    matchingRows,
    nextOrder,
    offeredColumns,
    sortedRows,
} from './branch-rows.js';
import { BranchRowView } from './branch-row-view.js';
import { BranchValues } from './branch-values.js';

/** @typedef {import('./branch-rows.js').BranchRow} BranchRow */
/** @typedef {import('./branch-table.js').Choice} Choice */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {{page: Page, rev: number}} BranchesProps */
/** @typedef {{chosen: string[], text: string}} BranchesState */

/** The most rows shown. The filter finds others. */
const MOST_ROWS = 200;
/** The number of rows among which variables that differ are looked for. */
const MOST_OFFERING = 12;

/** The text of the input that has changed. @param {Event} event */
const textIn = ({ target }) => /** @type {HTMLInputElement} */ (target).value;

/** @extends {Component<BranchesProps, BranchesState>} */
export class Branches extends Component {
    state = { chosen: /** @type {string[]} */ ([]), text: '' };
    found = new BranchValues(this.props.page, () => this.forceUpdate());
    /** The rows, in the order of the graph. @type {BranchRow[]} */
    rows = [];
    /** The lines in which each state differs; see `differingCode`. @type {Map<string, string[]>} */
    code = new Map();
    /** The states in the order in which the table shows them. @type {string[]} */
    order = [];
    /** What the rows were made from. */
    stamp = '';
    choice = this.props.page.branchTable.choice;
    /** The element that had the focus before. @type {Element | null} */
    back = document.activeElement;
    /** @type {HTMLDialogElement | null} */
    dialog = null;

    componentDidMount() {
        this.dialog?.showModal();
        this.#ask();
    }

    /** @param {BranchesProps} _props @param {BranchesState} state */
    shouldComponentUpdate(_props, state) {
        const { branchTable } = this.props.page;
        return state !== this.state || branchTable.choice !== this.choice || this.#stampNow() !== this.stamp;
    }

    componentDidUpdate() {
        this.#ask();
    }

    componentWillUnmount() {
        this.found.stop();
        this.dialog?.close();
        if (this.back instanceof HTMLElement) this.back.focus();
    }

    /** What the table shows besides its own state, as far as it may change. */
    #stampNow() {
        const { model, here, mayRun, pendingDeletion, variables } = this.props.page;
        const lists = this.#offering().filter(({ id }) => Array.isArray(variables.known.get(id)));
        return [model.marksRev, here, mayRun, [...pendingDeletion], lists.length].join();
    }

    /** Makes the rows again if what they are made from has changed. */
    #update() {
        const { page } = this.props;
        const { branchTable, branches, model, pendingDeletion } = page;
        const { picked, baseline } = branchTable.choice;
        const before = this.choice;
        this.choice = branchTable.choice;
        if (this.stamp === this.#stampNow() && picked === before.picked && baseline === before.baseline)
            return;
        this.rows = branchRows(model, branchTable.picked, { branches, going: pendingDeletion });
        const states = this.rows.map(({ state }) => state);
        this.code = differingCode(model, states, states.find(({ id }) => id === baseline) ?? null);
        this.stamp = this.#stampNow();
    }

    /** The states whose variables are looked at for further columns. */
    #offering() {
        return this.rows
            .map(({ state }) => state)
            .filter(({ living }) => canRun(living) && living !== 'disk')
            .slice(0, MOST_OFFERING);
    }

    /** Asks for what is missing. */
    #ask() {
        const { page } = this.props;
        this.found.ask(
            this.rows.map(({ state }) => state),
            page.branchTable.choice.columns,
        );
        for (const { id } of this.#offering()) void page.variables.fetchVariables(id);
    }

    /** The variables that differ, to be added as columns. */
    #offered() {
        const { branchTable, variables } = this.props.page;
        const lists = this.#offering().flatMap(({ id }) => {
            const list = variables.known.get(id);
            return Array.isArray(list) ? [list] : [];
        });
        return offeredColumns(lists, branchTable.choice.columns);
    }

    /**
     * The rows as they are shown. Rows must not move while the user aims at one. So they are sorted
     * by the known values when the table opens, and again only when all values of the column have
     * arrived.
     * @param {Choice} choice
     */
    #sorted({ columns, order }) {
        const by = order && columns.includes(order.by) ? order.by : null;
        const isComing = by !== null && this.rows.some(({ state }) => this.found.isComing(state, by));
        if (this.order.length === 0 || !isComing)
            this.order = sortedRows(this.rows, this.found.values, order).map(({ state }) => state.id);
        return inOrder(this.rows, this.order);
    }

    #add() {
        const wanted = this.state.text.trim();
        if (!wanted) return;
        this.props.page.branchTable.allow([wanted]);
        this.#addColumn(wanted);
        this.setState({ text: '' });
    }

    /** Adds a column, and sorts by it. @param {string} column */
    #addColumn(column) {
        const { branchTable } = this.props.page;
        const { columns } = branchTable.choice;
        branchTable.change({
            columns: columns.includes(column) ? columns : [...columns, column].slice(-MAX_COLUMNS),
            order: { by: column, isDown: true },
        });
    }

    /** @param {string} column */
    #remove(column) {
        const { branchTable } = this.props.page;
        const { columns, order } = branchTable.choice;
        branchTable.change({
            columns: columns.filter((one) => one !== column),
            order: order?.by === column ? null : order,
        });
    }

    /** @param {string} state */
    #toggle(state) {
        const { chosen } = this.state;
        this.setState({
            chosen: chosen.includes(state) ? chosen.filter((one) => one !== state) : [...chosen, state],
        });
    }

    #load() {
        for (const { state } of this.rows) if (state.living === 'disk') this.found.loaded.add(state.id);
        this.forceUpdate();
    }

    /** @param {BranchesProps} props @param {BranchesState} state */
    render({ page }, { chosen, text }) {
        this.#update();
        const { branchTable } = page;
        const { code, choice } = this;
        const { columns, order, filter } = choice;
        const { values, loaded } = this.found;
        const sorted = this.#sorted(choice);
        const baseline = sorted.find(({ state }) => state.id === choice.baseline) ?? null;
        const matching = matchingRows(sorted, filter, { values, columns, code });
        const rows = [...(baseline ? [baseline] : []), ...matching.filter((row) => row !== baseline)];
        const shown = rows.slice(0, MOST_ROWS);
        const extremes = extremeStates(this.rows, values, order);
        const compared = rows.map(({ state }) => state.id).filter((id) => chosen.includes(id));
        const isOnDisk = (/** @type {BranchRow} */ { state }) =>
            state.living === 'disk' && !loaded.has(state.id);
        const onDisk = columns.length ? this.rows.filter(isOnDisk).length : 0;
        const hasPictures = shown.some(hasPicture);
        const shared = {
            page,
            choice,
            values,
            baseline,
            hasPictures,
            onToggle: (/** @type {string} */ id) => this.#toggle(id),
        };
        const asked = columns.filter((column) => !branchTable.mayEvaluate(column));
        return html`<dialog data-kind="branches" aria-labelledby="branches-title"
            aria-describedby="branches-why"
            ref=${(/** @type {HTMLDialogElement | null} */ dialog) => (this.dialog = dialog)}
            onCancel=${(/** @type {Event} */ event) => (event.preventDefault(), branchTable.close())}>
            <div class="sheet">
            <h2 id="branches-title">${WORDS.title}</h2>
            <p id="branches-why">${WORDS.why}</p>
            ${this.#tools(text, filter)}
            ${page.mayRun && asked.length > 0 && this.#question(asked)}
            ${this.rows.length === 0 && html`<p>${WORDS.none}</p>`}
            <div class="branches-scroll" tabindex=${shown.length > 0 ? 0 : null} role="region"
                aria-label=${WORDS.title}><table class="branches">
                <thead><tr>
                    <td></td>
                    ${this.#head(BY_NAME, WORDS.branch)}
                    ${columns.map((column) => this.#head(column, column, { isColumn: true }))}
                    <th>${WORDS.code}</th>
                    ${this.#head(BY_DURATION, WORDS.duration, { hint: WORDS.durationHint })}
                    ${this.#head(BY_MEMORY, WORDS.memory, { hint: WORDS.memoryHint })}
                    ${this.#head(BY_TIME, WORDS.time)}
                    ${hasPictures && html`<th>${WORDS.picture}</th>`}
                </tr></thead>
                <tbody>${shown.map(
                    (row) => html`<${BranchRowView} key=${row.state.id} ...${shared} row=${row}
                        code=${code.get(row.state.id) ?? []} isExtreme=${extremes.has(row.state.id)}
                        isChosen=${chosen.includes(row.state.id)} />`,
                )}</tbody>
            </table></div>
            ${this.#notes(rows.length - shown.length, matching.length)}
            <div class="answers">
                ${
                    onDisk > 0 &&
                    html`<button class="button" data-other onClick=${() => this.#load()}>
                    ${WORDS.load(onDisk)}</button>`
                }
                <button class="button" data-frame disabled=${compared.length < 2} title=${WORDS.compareWhy}
                    onClick=${() => page.compare(...compared)}>${WORDS.compare}</button>
                <button class="button" data-main onClick=${() => branchTable.close()}>${ALL.close}</button>
            </div></div></dialog>`;
    }

    /** @param {string} text @param {string} filter */
    #tools(text, filter) {
        const { branchTable, variables } = this.props.page;
        const offered = this.#offered();
        return html`
            <div class="branches-tools">
                <form class="branches-add"
                    onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), this.#add())}>
                    <input class="field" aria-label=${WORDS.add} placeholder=${WORDS.addHint} value=${text}
                        autofocus autocomplete="off" spellcheck=${false} list="branch-variables"
                        onInput=${(/** @type {Event} */ event) => this.setState({ text: textIn(event) })} />
                    <datalist id="branch-variables">${(variables.shown?.list ?? []).map(
                        ({ name }) => html`<option value=${name} />`,
                    )}</datalist>
                    <button class="button" data-frame disabled=${!text.trim()}>${WORDS.addDo}</button>
                </form>
                <input class="field branches-filter" type="search" aria-label=${WORDS.filter}
                    placeholder=${WORDS.filterHint} value=${filter} autocomplete="off" spellcheck=${false}
                    onInput=${(/** @type {Event} */ event) =>
                        branchTable.change({ filter: textIn(event) })} />
            </div>
            ${
                offered.length > 0 &&
                html`<div class="branches-offered" role="group" aria-label=${WORDS.offered}>
                <span>${WORDS.offered}</span>
                ${offered.map(
                    (
                        name,
                    ) => html`<button class="text-button" key=${name} title=${WORDS.offer(name)} aria-label=${WORDS.offer(name)}
                    onClick=${() => this.#addColumn(name)}><code>${name}</code></button>`,
                )}</div>`
            }`;
    }

    /** The question whether the expressions of a link may run. @param {string[]} columns */
    #question(columns) {
        const allow = () => {
            this.props.page.branchTable.allow(columns);
            this.forceUpdate();
        };
        return html`<div class="branches-question" role="status">
            <p>${WORDS.question(columns.length)}
                ${columns.map((column) => html` <code key=${column}>${column}</code>`)}</p>
            <button class="button" data-frame onClick=${allow}>${WORDS.allow}</button></div>`;
    }

    /** What is not in the table, and why. @param {number} more @param {number} matching */
    #notes(more, matching) {
        const { page } = this.props;
        const { columns, filter } = page.branchTable.choice;
        const failed = failedVariants(page.model);
        const notes = [
            filter.trim() && WORDS.matching(matching, this.rows.length),
            more > 0 && WORDS.more(more),
            ...columns.filter((column) => isNowhere(this.rows, this.found.values, column)).map(WORDS.nowhere),
            failed > 0 && WORDS.failedVariants(failed),
        ].filter(Boolean);
        return notes.length > 0 && html`<p role="status">${notes.join(' ')}</p>`;
    }

    /**
     * @param {string} by
     * @param {string} title
     * @param {{isColumn?: boolean, hint?: string}} [options] `isColumn`: of an expression
     */
    #head(by, title, { isColumn = false, hint } = {}) {
        const { branchTable } = this.props.page;
        const { order } = branchTable.choice;
        const isBy = order?.by === by;
        return html`<th aria-sort=${!isBy ? 'none' : order?.isDown ? 'descending' : 'ascending'}>
            <span><button class="text-button" title=${hint}
                onClick=${() => branchTable.change({ order: nextOrder(order, by) })}>
                ${title}${isBy && (order?.isDown ? html`<${DownIcon} />` : html`<${UpIcon} />`)}</button>
            ${
                isColumn &&
                html`<button class="tool" aria-label=${WORDS.remove(by)} title=${WORDS.remove(by)}
                onClick=${() => this.#remove(by)}><${CloseIcon} /></button>`
            }</span></th>`;
    }
}
