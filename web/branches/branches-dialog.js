// @ts-check
// The table of branches, as a dialog. It evaluates its expressions at each state in memory, and at
// states on disk when the user asks for it. Chosen rows can be compared. The columns and their
// order are kept in this tab.

import { Component, html } from '../vendor/preact.js';
import { ago } from '../text/format.js';
import { WORDS as ALL } from '../shell/words.js';
import { Thumb } from '../graph/thumbnails.js';
import { CloseIcon, DownIcon, UpIcon } from '../ui/icons.js';
import { show } from '../ui/dialog.js';
import { BRANCHES_WORDS as WORDS } from './branches-words.js';
import {
    BY_NAME,
    BY_TIME,
    branchRows,
    extremeStates,
    inOrder,
    MAX_COLUMNS,
    missingColumns,
    missingVariable,
    nextOrder,
    sortedRows,
} from './branch-table.js';
import { pickedStates, togglePicked } from './picked-states.js';

/** @typedef {import('./branch-table.js').BranchRow} BranchRow */
/** @typedef {import('./branch-table.js').Value} Value */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {{page: Page, done: (answer: string | null) => void}} BranchesProps */
/**
 * @typedef {{columns: string[], order: import('./branch-table.js').Order | null, chosen: string[],
 *   text: string}} BranchesState
 */

/** The number of states whose values are asked for at the same time. */
const AT_ONCE = 2;
/** How often the table looks for new branches, in milliseconds. */
const LOOK_MS = 500;

/** Shows the table of branches. @param {Page} page */
export const showBranches = (page) =>
    show((done) => html`<${Branches} page=${page} done=${done} />`, 'branches');

/**
 * The known values. States do not change, so the values hold while the page is open.
 * @type {WeakMap<Page, import('./branch-table.js').Values>}
 */
const known = new WeakMap();

/** @param {Page} page @returns {import('./branch-table.js').Values} */
function valuesOf(page) {
    const values = known.get(page) ?? new Map();
    known.set(page, values);
    return values;
}

/** @extends {Component<BranchesProps, BranchesState>} */
class Branches extends Component {
    state = {
        columns: /** @type {string[]} */ (this.props.page.host.recall('branchColumns') ?? []),
        order: /** @type {BranchesState['order']} */ (this.props.page.host.recall('branchOrder') ?? null),
        chosen: /** @type {string[]} */ ([]),
        text: '',
    };
    values = valuesOf(this.props.page);
    /** The states on disk that the user has asked to load. @type {Set<string>} */
    loaded = new Set();
    asking = 0;
    isUnmounted = false;
    rev = -1;
    /** The rows, in the order of the graph. @type {BranchRow[]} */
    rows = [];
    /** The states in the order in which the table shows them. @type {string[]} */
    shown = [];
    /** @type {ReturnType<typeof setInterval> | undefined} */
    timer = undefined;

    componentDidMount() {
        this.#ask();
        this.timer = setInterval(() => this.#look(), LOOK_MS);
    }

    componentDidUpdate() {
        this.#ask();
    }

    componentWillUnmount() {
        this.isUnmounted = true;
        clearInterval(this.timer);
        // What was refused is asked again when the table is opened again.
        for (const columns of this.values.values())
            for (const [column, value] of columns) if ('refusal' in value) columns.delete(column);
    }

    /** Renders the table again if the graph has changed. */
    #look() {
        if (this.rev !== this.props.page.model.marksRev) this.forceUpdate();
    }

    /** Asks for the values that are missing, some states at a time. */
    #ask() {
        const { page } = this.props;
        if (!page.mayRun) return;
        for (const { state } of this.rows) {
            if (this.asking >= AT_ONCE) return;
            const columns = missingColumns(this.values, state.id, this.state.columns);
            if (columns.length && this.#mayAsk(state)) this.#evaluate(state.id, columns);
        }
    }

    /** @param {BranchRow['state']} state */
    #mayAsk({ living, id }) {
        return living === 'memory' || living === 'freezing' || (living === 'disk' && this.loaded.has(id));
    }

    /** @param {string} state @param {string[]} columns */
    async #evaluate(state, columns) {
        const { page } = this.props;
        this.asking += 1;
        this.#set(
            state,
            columns.map((column) => [column, { isPending: true }]),
        );
        const reply = await page.host.send({ do: 'evaluate', state, expressions: columns });
        this.asking -= 1;
        // Each alone, because one may have ended the process or taken all the time.
        if (reply.kind === 'refused' && columns.length > 1) {
            for (const column of columns) if (!this.isUnmounted) await this.#evaluate(state, [column]);
            return;
        }
        const refusal = reply.kind === 'refused' ? ALL.refused(reply) : '';
        const found = reply.kind === 'evaluated' ? reply.values : [];
        this.#set(
            state,
            columns.map((column, i) => [column, found[i] ?? { refusal }]),
        );
        if (!this.isUnmounted) this.forceUpdate();
    }

    /**
     * The rows as they are shown. Rows must not move while the user aims at one. So they are sorted
     * by the known values when the table opens, and again only when all values of the column have
     * arrived.
     * @param {Pick<BranchesState, 'columns' | 'order'>} sorting
     */
    #sorted({ columns, order }) {
        const by = order && columns.includes(order.by) ? order.by : null;
        const isComing = (/** @type {BranchRow} */ { state }) => {
            const value = by === null ? null : this.values.get(state.id)?.get(by);
            return value === undefined ? this.#mayAsk(state) : value !== null && 'isPending' in value;
        };
        const isFirst = this.shown.length === 0;
        if (isFirst || !this.props.page.mayRun || !this.rows.some(isComing))
            this.shown = sortedRows(this.rows, this.values, order).map(({ state }) => state.id);
        return inOrder(this.rows, this.shown);
    }

    /** @param {string} state @param {[string, Value][]} entries */
    #set(state, entries) {
        this.values.set(state, new Map([...(this.values.get(state) ?? []), ...entries]));
    }

    /** @param {Partial<BranchesState>} change */
    #change(change) {
        this.setState(change);
        const { host } = this.props.page;
        if (change.columns) host.remember('branchColumns', change.columns);
        if (change.order !== undefined) host.remember('branchOrder', change.order);
    }

    #add() {
        const { columns, text } = this.state;
        const wanted = text.trim();
        if (!wanted) return;
        const all = columns.includes(wanted) ? columns : [...columns, wanted].slice(-MAX_COLUMNS);
        // The table is sorted by the column that the user has just added.
        this.#change({ columns: all, text: '', order: { by: wanted, isDown: true } });
    }

    /** @param {string} column */
    #remove(column) {
        const { columns, order } = this.state;
        this.#change({
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

    /** @param {string} state */
    #goTo(state) {
        this.props.done(null);
        this.props.page.branchFrom(state);
    }

    /** @param {string[]} ids */
    #compare(ids) {
        this.props.done(null);
        this.props.page.compare(...ids);
    }

    /** Removes a state that the user added. @param {string} state */
    #unpick(state) {
        togglePicked(this.props.page, state);
        this.setState({ chosen: this.state.chosen.filter((one) => one !== state) });
    }

    #load() {
        for (const { state } of this.rows) if (state.living === 'disk') this.loaded.add(state.id);
        this.forceUpdate();
    }

    /** @param {BranchesProps} props @param {BranchesState} state */
    render({ page, done }, { columns, order, chosen, text }) {
        this.rev = page.model.marksRev;
        this.rows = branchRows(page.model, pickedStates(page), {
            given: page.branches.given,
            going: page.pendingDeletion,
        });
        const rows = this.#sorted({ columns, order });
        const extremes = extremeStates(this.rows, this.values, order);
        const compared = rows.map(({ state }) => state.id).filter((id) => chosen.includes(id));
        const onDisk = columns.length
            ? this.rows.filter(({ state }) => state.living === 'disk' && !this.loaded.has(state.id)).length
            : 0;
        const hasPictures = rows.some(({ run }) => run?.outputs.some((one) => one.output_type !== 'stream'));
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why}</p>
            ${
                page.mayRun &&
                html`<form class="branches-add"
                onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), this.#add())}>
                <input class="field" aria-label=${WORDS.add} placeholder=${WORDS.addHint} value=${text}
                    autofocus autocomplete="off" spellcheck=${false} list="branch-variables"
                    onInput=${(/** @type {any} */ event) => this.setState({ text: event.target.value })} />
                <datalist id="branch-variables">${(page.variables.shown?.list ?? []).map(
                    ({ name }) => html`<option value=${name} />`,
                )}</datalist>
                <button class="button" data-frame disabled=${!text.trim()}>${WORDS.addDo}</button>
            </form>`
            }
            ${rows.length === 0 && html`<p>${WORDS.none}</p>`}
            <div class="branches-scroll"><table class="branches">
                <thead><tr>
                    <td></td>
                    ${this.#head(BY_NAME, WORDS.branch)}
                    ${columns.map((column) => this.#head(column, column, page.mayRun))}
                    ${this.#head(BY_TIME, WORDS.time)}
                    ${hasPictures && html`<th>${WORDS.picture}</th>`}
                </tr></thead>
                <tbody>${rows.map((row) => this.#row(row, extremes.has(row.state.id), hasPictures))}</tbody>
            </table></div>
            <div class="answers">
                ${
                    onDisk > 0 &&
                    html`<button class="button" data-other onClick=${() => this.#load()}>
                    ${WORDS.load(onDisk)}</button>`
                }
                <button class="button" data-frame disabled=${compared.length < 2} title=${WORDS.compareWhy}
                    onClick=${() => this.#compare(compared)}>${WORDS.compare}</button>
                <button class="button" data-main onClick=${() => done(null)}>${ALL.close}</button>
            </div>`;
    }

    /** @param {string} by @param {string} title @param {boolean} [mayRemove] */
    #head(by, title, mayRemove = false) {
        const { order } = this.state;
        const isBy = order?.by === by;
        return html`<th aria-sort=${!isBy ? 'none' : order?.isDown ? 'descending' : 'ascending'}>
            <span><button class="text-button" onClick=${() => this.#change({ order: nextOrder(order, by) })}>
                ${title}${isBy && (order?.isDown ? html`<${DownIcon} />` : html`<${UpIcon} />`)}</button>
            ${
                mayRemove &&
                html`<button class="tool" aria-label=${WORDS.remove(by)} title=${WORDS.remove(by)}
                onClick=${() => this.#remove(by)}><${CloseIcon} /></button>`
            }</span></th>`;
    }

    /** @param {BranchRow} row @param {boolean} isExtreme @param {boolean} hasPictures */
    #row({ state, run, name, last, colour, isPicked }, isExtreme, hasPictures) {
        const { page } = this.props;
        const { columns, chosen, order } = this.state;
        return html`<tr key=${state.id} data-state=${state.id} data-branch=${colour}
            data-here=${state.id === page.here ? '' : null} data-extreme=${isExtreme ? '' : null}>
            <td><input type="checkbox" aria-label=${WORDS.choose(name)} checked=${chosen.includes(state.id)}
                onChange=${() => this.#toggle(state.id)} /></td>
            <th scope="row"><button class="branch-name" onClick=${() => this.#goTo(state.id)}>
                <b>${name}</b>${last && html`<small>${last}</small>`}</button>
                ${isExtreme && html`<span class="label">${order?.isDown ? WORDS.highest : WORDS.lowest}</span>`}
                ${
                    isPicked &&
                    html`<button class="tool" aria-label=${WORDS.removeRow(name)}
                    title=${WORDS.removeRow(name)} onClick=${() => this.#unpick(state.id)}><${CloseIcon} /></button>`
                }</th>
            ${columns.map((column) => this.#value(state, column))}
            <td>${ago(state.created_at, Date.now())}</td>
            ${hasPictures && html`<td>${run && html`<${Thumb} run=${run} />`}</td>`}
        </tr>`;
    }

    /** @param {BranchRow['state']} state @param {string} column */
    #value(state, column) {
        const value = this.values.get(state.id)?.get(column);
        if (!value) {
            const why = { disk: WORDS.onDisk, replay: WORDS.needsReplay }[
                /** @type {string} */ (state.living)
            ];
            return html`<td class="pending">${why ?? '…'}</td>`;
        }
        if ('isPending' in value) return html`<td class="pending">…</td>`;
        if ('refusal' in value) return html`<td class="failed">${value.refusal}</td>`;
        const missing = missingVariable(value);
        if (missing)
            return html`<td class="pending" title=${WORDS.missing(missing)}><span aria-hidden="true">–</span>
                <span class="visually-hidden">${WORDS.missing(missing)}</span></td>`;
        const kind = value.failed ? 'failed' : value.number === null ? 'text' : 'number';
        // `np.float64(0.9)` is the number 0.9 for people.
        const shown = value.text.replace(/^np\.\w+\((.*)\)$/s, '$1');
        return html`<td class=${kind} title=${value.text}>${shown}</td>`;
    }
}
