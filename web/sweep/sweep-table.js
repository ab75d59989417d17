// @ts-check
// The table of a sweep, as a dialog: its progress, the plot, and one row for each combination of
// values. A row leads to its state.

import { CloseIcon } from '../ui/icons.js';
import { WORDS as ALL } from '../shell/words.js';
import { duration } from '../text/format.js';
import { copyText } from '../ui/copy.js';
import { MOST_STATES } from '../compare/compare-command-words.js';
import { ask, show } from '../ui/dialog.js';
import { saveBlob } from '../ui/save-blob.js';
import { Component, html } from '../vendor/preact.js';
import { askKept } from './collapse-dialog.js';
import { ROW_WORDS, sweepName } from './row-words.js';
import { SweepGrid } from './row-grid.js';
import { SweepPlot } from './sweep-plot-view.js';
import {
    columnsOf,
    csvOf,
    markdownOf,
    markedAfter,
    nextOrder,
    progressOf,
    rowsOf,
    sortedRows,
    tableRows,
} from './sweep-rows.js';
import { metricOf, runIdOf, shownMetric } from './sweeps.js';
import { TABLE_WORDS as SAY } from './sweep-words.js';
import { keepView, ownRow, viewOf } from './table-view.js';

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('./sweeps.js').Sweep} Sweep */
/** @typedef {import('./sweep-rows.js').TableRow} TableRow */
/** @typedef {import('./sweep-rows.js').ColumnKey} ColumnKey */
/** @typedef {{page: Page, id: string, done: (answer: string | null) => void}} TableProps */
/**
 * @typedef {object} TableState
 * @property {import('./sweep-rows.js').Order | null} order
 * @property {ColumnKey[]} hidden the columns that the user has hidden
 * @property {number} parameter the parameter of the plot
 * @property {number | null} active the row to which the user has moved the cursor
 * @property {{rows: number[], last: number | null}} marked the rows to compare; see `markedAfter`
 * @property {number | null} pointed the row below the pointer, in the table or the plot
 * @property {{text: string, isBad: boolean, undo?: () => void}} said what the last action did
 */

/** How often the table looks for changes, and for the time that has passed, in milliseconds. */
const LOOK_MS = 250;
const CLOCK_MS = 1000;
/** Progress is announced this many times. */
const PARTS = 4;

/** Shows the table of a sweep. @param {Page} page @param {string} id */
export const showTable = (page, id) =>
    show((done) => html`<${SweepTable} page=${page} id=${id} done=${done} />`, 'sweep');

/** Asks which sweep to show, if there are several. @param {Page} page */
export async function chooseSweep(page) {
    const all = [...page.model.sweeps.values()].toReversed();
    const [first] = all;
    if (!first) return page.notify(SAY.none, false);
    if (all.length === 1) return showTable(page, first.id);
    const id = await show(
        (done) => html`<h2>${SAY.choose}</h2><p>${SAY.chooseWhy}</p>
            <ul class="sweep-choices">${all.map(
                (sweep, i) => html`<li><button class="button" data-frame autofocus=${i === 0}
                onClick=${() => done(sweep.id)}>${ROW_WORDS.sweep(sweep)}
                <small>${ROW_WORDS.counts(sweep)}</small></button></li>`,
            )}</ul>
            <div class="answers"><button class="button" onClick=${() => done(null)}>${ALL.cancel}</button></div>`,
    );
    return id === null ? undefined : showTable(page, id);
}

/**
 * Deletes a sweep after a question.
 * @param {Page} page
 * @param {string} id
 * @returns {Promise<boolean>} whether it is deleted
 */
export async function removeSweep(page, id) {
    const sweep = page.model.sweeps.get(id);
    if (!sweep) return true;
    const title = SAY.removeTitle(ROW_WORDS.sweep(sweep));
    const answer = await ask({ title, why: SAY.removeWhy, act: SAY.removeDo, isBad: true });
    if (answer === null) return false;
    const reply = await page.host.send({ do: 'delete_sweep', sweep: id });
    page.reportRefusal(reply);
    return reply.kind !== 'refused';
}

/** @extends {Component<TableProps, TableState>} */
class SweepTable extends Component {
    first = viewOf(this.props.page, this.props.id);
    /** The row where the cursor is first. */
    start = ownRow(this.props.page, this.props.id) ?? this.first.cursor;
    /** @type {TableState} */
    state = {
        ...this.first,
        active: null,
        marked: { rows: [], last: null },
        pointed: null,
        said: { text: '', isBad: false },
    };
    /** The model's revision that is shown. */
    rev = -1;
    /** @type {TableRow[]} */
    rows = [];
    /**
     * The rows in their order, so that the cursor and the pointer sort nothing again.
     * @type {{from: TableRow[], order: import('./sweep-rows.js').Order | null,
     *   rows: TableRow[]} | null}
     */
    shown = null;
    /** How much of the progress has been announced, in parts; -1 before the first look. */
    part = -1;
    announced = '';
    isUnmounted = false;
    /** @type {ReturnType<typeof setInterval>[]} */
    timers = [];

    componentDidMount() {
        this.timers = [
            setInterval(() => this.rev !== this.props.page.model.rev && this.forceUpdate(), LOOK_MS),
            setInterval(() => this.sweep?.status === 'running' && this.forceUpdate(), CLOCK_MS),
        ];
    }

    componentWillUnmount() {
        this.isUnmounted = true;
        for (const timer of this.timers) clearInterval(timer);
    }

    get sweep() {
        return this.props.page.model.sweeps.get(this.props.id);
    }

    /** @param {string} text @param {{isBad?: boolean, undo?: () => void}} [more] */
    #say(text, { isBad = false, undo } = {}) {
        if (!this.isUnmounted) this.setState({ said: { text, isBad, undo } });
    }

    /** @param {import('../shell/protocol.js').Command} command */
    async #send(command) {
        const reply = await this.props.page.host.send(command);
        if (reply.kind === 'refused') this.#say(ALL.refused(reply), { isBad: true });
        return reply;
    }

    /** Goes to the state of a row, or shows its failed run. @param {TableRow} row */
    #goTo(row) {
        const { page, done, id } = this.props;
        const run = row.run?.exec_id ?? runIdOf(id, row.row);
        const to = row.state ?? (row.run ? run : null);
        if (to === null) return this.#say(row.status === 'deleted' ? SAY.goneRow : SAY.notYet);
        done(null);
        if (row.state) page.branchFrom(row.state);
        else page.goTo(to);
        if (row.state && page.mayRun) focusFresh(page);
        return undefined;
    }

    /** @param {Partial<import('./table-view.js').TableView>} change */
    #change(change) {
        keepView(this.props.page, this.props.id, change);
        this.setState(change);
    }

    /** @param {number | null} row */
    #moveCursor(row) {
        if (row === this.state.active) return;
        if (row !== null) keepView(this.props.page, this.props.id, { cursor: row });
        this.setState({ active: row });
    }

    /**
     * Marks a row for the comparison, or all rows up to it.
     * @param {TableRow} row
     * @param {boolean} isRange
     */
    #mark(row, isRange) {
        if (row.state === null) return this.#say(SAY.cannotMark);
        const shown = isRange ? this.#sorted(this.state.order).filter(({ state }) => state !== null) : null;
        this.setState({
            marked: markedAfter(
                this.state.marked,
                row.row,
                shown?.map((one) => one.row),
            ),
        });
        return undefined;
    }

    /** The states of the marked rows, in the order shown. */
    get #compared() {
        const { order, marked } = this.state;
        return this.#sorted(order).flatMap(({ row, state }) =>
            state !== null && marked.rows.includes(row) ? state : [],
        );
    }

    #compare() {
        const states = this.#compared;
        if (states.length > MOST_STATES) return this.#say(SAY.manyMarked(MOST_STATES), { isBad: true });
        this.props.done(null);
        this.props.page.compare(...states);
        return undefined;
    }

    /** @param {ColumnKey} key @param {boolean} isShown */
    #showColumn(key, isShown) {
        const hidden = this.state.hidden.filter((one) => one !== key);
        if (!isShown) hidden.push(key);
        this.#change({ hidden });
    }

    async #collapse() {
        const { page, id } = this.props;
        const { sweep } = this;
        if (!sweep) return;
        const { active } = this.state;
        const best = sweep.tally.best;
        const canKeep = (/** @type {number | null} */ row) =>
            row !== null && row >= 0 && this.rows[row]?.state != null;
        const choices = [best, active].filter((row, i, all) => canKeep(row) && all.indexOf(row) === i);
        if (choices.length === 0) {
            const some = this.rows.find(({ state }) => state !== null);
            if (!some) return this.#say(SAY.nothingToKeep);
            choices.push(some.row);
        }
        const running = this.rows.filter(({ status }) => status === 'running' || status === 'queued').length;
        const row = await askKept({
            model: page.model,
            sweep,
            choices: /** @type {number[]} */ (choices),
            running,
        });
        if (row === null) return;
        const reply = await this.#send({ do: 'collapse', sweep: id, row });
        if (reply.kind !== 'collapsed') return;
        const text = SAY.collapsed(rowsOf(sweep, reply.deleted), rowsOf(sweep, reply.continued));
        const [first] = reply.deleted;
        const undo = first === undefined ? undefined : () => void this.#undo(first);
        page.notify(text, false, undo && { act: { text: SAY.undo, act: undo } });
        this.#say(text, { undo });
        return undefined;
    }

    /** @param {string} state one of the deleted states */
    async #undo(state) {
        const { page } = this.props;
        const reply = await page.host.send({ do: 'restore', deleted: state });
        if (reply.kind === 'refused') {
            if (this.isUnmounted) page.reportRefusal(reply);
            else this.#say(ALL.refused(reply), { isBad: true });
        } else if (this.isUnmounted) page.notify(SAY.undone, false);
        else this.#say(SAY.undone);
    }

    async #remove() {
        if (await removeSweep(this.props.page, this.props.id)) this.props.done(null);
    }

    #csv() {
        const { sweep } = this;
        if (sweep) saveBlob([csvOf(sweep, this.rows)], `${fileName(sweepName(sweep))}.csv`);
    }

    async #markdown() {
        const { sweep } = this;
        if (!sweep) return;
        const columns = columnsOf(sweep, this.rows).filter(({ key }) => !this.state.hidden.includes(key));
        const text = markdownOf(sortedRows(this.rows, this.state.order), columns);
        // A notice of the page would be behind this dialog.
        const page = { notify: (/** @type {string} */ said) => this.#say(said) };
        await copyText(page, text, { said: SAY.copied, title: SAY.copyTitle });
    }

    /** @param {import('./sweep-rows.js').Order | null} order @returns {TableRow[]} */
    #sorted(order) {
        let { shown } = this;
        if (shown?.from !== this.rows || shown.order !== order)
            shown = { from: this.rows, order, rows: sortedRows(this.rows, order) };
        this.shown = shown;
        return shown.rows;
    }

    /**
     * Announces the progress at each part, and the end.
     * @param {Sweep} sweep
     * @param {import('./sweep-rows.js').Progress} progress
     */
    #announce(sweep, { ended, all, ok, failed, stopped }) {
        const isOver = sweep.status !== 'running';
        const part = isOver ? PARTS + 1 : Math.floor((PARTS * ended) / Math.max(1, all));
        if (this.part >= 0 && part !== this.part && part > 0) {
            const best = metricOf(sweep.rows[sweep.tally.best]);
            const said = best === null ? '' : SAY.bestIs(shownMetric(best));
            const counts = [
                SAY.counts.ok(ok),
                failed > 0 && SAY.counts.failed(failed),
                stopped > 0 && SAY.counts.stopped(stopped),
                said,
            ];
            this.announced = isOver
                ? SAY.ended(SAY.status[sweep.status].toLowerCase(), counts.filter(Boolean).join(', '))
                : SAY.said(ended, all, said);
        }
        this.part = part;
    }

    /** @param {TableProps} props @param {TableState} state */
    render({ page, done }, { order, hidden, parameter, active, marked, pointed, said }) {
        const { model } = page;
        const { sweep } = this;
        if (!sweep)
            return html`<h2>${SAY.gone}</h2><div class="answers">
                <button class="button" data-main autofocus onClick=${() => done(null)}>${ALL.close}</button></div>`;
        if (this.rev !== model.rev) this.rows = tableRows(model, sweep);
        this.rev = model.rev;
        const progress = progressOf(sweep, this.rows);
        this.#announce(sweep, progress);
        const columns = columnsOf(sweep, this.rows);
        const shown = columns.filter(({ key }) => !hidden.includes(key));
        return html`
            ${this.#top(sweep, progress, columns)}
            ${
                said.text &&
                html`<p class="sweep-said" data-bad=${said.isBad ? '' : null}
                role=${said.isBad ? 'alert' : 'status'}>${said.text} ${
                    said.undo &&
                    html`<button class="text-button" onClick=${() => {
                        said.undo?.();
                        this.#say('');
                    }}>${SAY.undo}</button>`
                }</p>`
            }
            ${
                sweep.options.metric !== null &&
                html`<${SweepPlot} sweep=${sweep} rows=${this.rows} marked=${pointed ?? active}
                parameter=${sweep.parameters[parameter] ? parameter : 0}
                onParameter=${(/** @type {number} */ at) => this.#change({ parameter: at })}
                onPoint=${(/** @type {number | null} */ row) =>
                    row !== this.state.pointed && this.setState({ pointed: row })}
                onGo=${(/** @type {number} */ row) => this.rows[row] && this.#goTo(this.rows[row])} />`
            }
            <${SweepGrid} rows=${this.#sorted(order)} columns=${shown} order=${order}
                label=${SAY.label(ROW_WORDS.sweep(sweep))} marked=${pointed}
                start=${this.start} picked=${marked.rows}
                onPick=${(/** @type {TableRow} */ row, /** @type {boolean} */ isRange) =>
                    this.#mark(row, isRange)}
                onSort=${(/** @type {ColumnKey} */ by) =>
                    this.#change({ order: nextOrder(order, by, sweep) })}
                onGo=${(/** @type {TableRow} */ row) => this.#goTo(row)}
                onActive=${(/** @type {number | null} */ row) => this.#moveCursor(row)}
                onPoint=${(/** @type {number | null} */ row) =>
                    row !== this.state.pointed && this.setState({ pointed: row })} />
            <div class="sweep-foot"><span>${SAY.keys}</span>
                <span class="visually-hidden" role="status">${this.announced}</span></div>`;
    }

    /**
     * @param {Sweep} sweep
     * @param {import('./sweep-rows.js').Progress} progress
     * @param {import('./sweep-rows.js').Column[]} columns
     */
    #top(sweep, progress, columns) {
        const { page, done } = this.props;
        const { all, ended, ok, failed, stopped, running, waiting, leftMs } = progress;
        const compared = this.#compared.length;
        const isRunning = sweep.status === 'running';
        const counts = [
            SAY.counts.ok(ok),
            failed > 0 && SAY.counts.failed(failed),
            stopped > 0 && SAY.counts.stopped(stopped),
            running > 0 && SAY.counts.running(running),
            waiting > 0 && SAY.counts[isRunning ? 'waiting' : 'skipped'](waiting),
        ].filter(Boolean);
        const took = sweep.ended_at === null ? null : sweep.ended_at - sweep.created_at;
        const time = isRunning
            ? leftMs !== null && SAY.left(duration(leftMs))
            : took !== null && SAY.took(duration(took));
        const mayDelete = page.mayRun && page.scope === 'owner';
        return html`
            <div class="sweep-top">
                <h2>${ROW_WORDS.sweep(sweep)}</h2>
                <button class="tool" aria-label=${SAY.close} title=${SAY.close}
                    onClick=${() => done(null)}><${CloseIcon} /></button>
            </div>
            <div class="sweep-progress" data-status=${sweep.status}>
                <progress max=${Math.max(1, all)} value=${isRunning ? ended : all}
                    aria-label=${SAY.progress}></progress>
                <p><b>${SAY.status[sweep.status]}</b> · ${counts.join(' · ')}${time && ` · ${time}`}</p>
                ${sweep.note && html`<p class="hint">${ALL.sentence(sweep.note)}</p>`}
            </div>
            <div class="sweep-acts">
                ${
                    isRunning &&
                    page.mayRun &&
                    html`<button class="button" data-frame
                    onClick=${() => void this.#send({ do: 'stop_sweep', sweep: sweep.id })}>${SAY.stop}</button>`
                }
                <button class="button" data-frame disabled=${compared < 2}
                    title=${compared < 2 ? SAY.compareNeeds : SAY.compareHint}
                    onClick=${() => this.#compare()}>${SAY.compare}${compared > 0 && ` (${compared})`}</button>
                ${
                    mayDelete &&
                    html`<button class="button" data-frame disabled=${ok === 0}
                    onClick=${() => void this.#collapse()}>${SAY.collapse}</button>`
                }
                <details class="sweep-columns" onKeyDown=${closeMenu}>
                    <summary class="button" data-frame>${SAY.columns}</summary>
                    <div role="group" aria-label=${SAY.columnsTitle}>${columns.map(
                        ({ key, name: column }) => html`<label key=${key}><input type="checkbox"
                        checked=${!this.state.hidden.includes(key)}
                        onChange=${(/** @type {any} */ event) =>
                            this.#showColumn(key, event.target.checked)} />
                        ${column}</label>`,
                    )}</div>
                </details>
                <button class="button" data-frame onClick=${() => this.#csv()}>${SAY.csv}</button>
                <button class="button" data-frame onClick=${() => void this.#markdown()}>${SAY.markdown}</button>
                ${
                    mayDelete &&
                    html`<button class="button" data-frame data-bad
                    onClick=${() => void this.#remove()}>${SAY.remove}</button>`
                }
            </div>`;
    }
}

/**
 * Closes an open menu by Escape, which would else close the dialog.
 * @param {KeyboardEvent} event
 */
function closeMenu(event) {
    const menu = /** @type {HTMLDetailsElement} */ (event.currentTarget);
    if (event.key !== 'Escape' || !menu.open) return;
    event.preventDefault();
    event.stopPropagation();
    menu.open = false;
    menu.querySelector('summary')?.focus();
}

/** Focuses the empty cell at the end, as a click in the graph does. @param {Page} page */
function focusFresh(page) {
    page.host.paintNow();
    const fresh = page.cells().findLast((cell) => cell.kind === 'draft' && cell.isFresh);
    const editor = fresh && page.draftEditors.get(fresh.key);
    /** @type {import('../editor/editor.js').Editor | undefined} */ (editor)?.focus();
}

/** The name of a file: letters, digits, `-` and `_`. @param {string} text */
const fileName = (text) =>
    text
        .replaceAll(/[^\p{L}\p{N}_-]+/gu, '-')
        .replaceAll(/^-+|-+$/g, '')
        .slice(0, 60) || 'sweep';
