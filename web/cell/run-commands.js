// @ts-check
// Runs and stops cells, and moves the focus as Jupyter does.

import { hasEnded } from '../shell/protocol.js';
import { isText, runOf } from '../notebook/cell-list.js';
import { withPart } from '../shell/lazy-parts.js';
import { askSweep } from '../sweep/sweep-commands.js';
import { ROW_WORDS } from '../sweep/row-words.js';
import { isRestOfLine, isWhole } from './cell-operations.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */

export class RunCommands {
    /**
     * @param {import('../notebook/page.js').Page} page
     * @param {import('./focus.js').Focus} focus
     * @param {import('./selected-cells.js').SelectedCells} selected
     * @param {import('./prompt-focus.js').PromptFocus} prompts
     * @param {import('./edit-commands.js').EditCommands} edits
     */
    constructor(page, focus, selected, prompts, edits) {
        this.page = page;
        this.focus = focus;
        this.selected = selected;
        this.prompts = prompts;
        this.edits = edits;
        /** The id of a run. If this run succeeds, the drafts below run. @type {string | null} */
        this.restAfter = null;
    }

    /**
     * Runs the selected cells, each on the result of the one before.
     * @param {CellView} view
     * @param {'next' | 'stay' | 'insert'} then
     */
    selection(view, then) {
        const all = this.selected.with(view);
        const chosen = all.filter(
            ({ props: { cell }, text }) => isWhole(cell) && !isText(cell) && text.trim(),
        );
        const keys = chosen.map(({ props }) => props.cell.key);
        if (all.length < 2 || keys.length === 0) return view.run(then);
        const last = all.findLast(({ props }) => isWhole(props.cell))?.props.cell.key ?? '';
        const isInLine = (/** @type {CellData} */ cell) =>
            cell.kind === 'ran' || (cell.kind === 'draft' && cell.isInside);
        if (chosen.some(({ props }) => isInLine(props.cell)))
            return void withPart('runAll', this.page, (part) => part.runAgain(this, keys, last, then), false);
        for (const one of chosen) this.run(one, 'stay');
        this.afterSelection(last, then);
        return undefined;
    }

    /**
     * Moves the focus after selected cells were run.
     * @param {string} last the key of the last one
     * @param {'next' | 'stay' | 'insert'} then
     */
    afterSelection(last, then) {
        const cell = this.page.cells().find(({ key }) => key === last);
        if (then === 'next') this.focus.go({ after: last });
        if (then === 'insert' && cell) this.edits.insertAtEnd(cell);
    }

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    run(view, then) {
        const { cell } = view.props;
        this.page.ownRuns.run(cell, view.text);
        this.prompts.lastTyped = null;
        this.focus.followed = then === 'stay' ? null : cell.key;
        if (then === 'next') this.focus.go({ after: cell.key });
        if (then === 'insert') this.edits.insertAtEnd(cell);
        // As in Jupyter, the cell is then in command mode.
        if (then === 'stay') this.focus.cell(cell.key);
    }

    /**
     * Runs a cell now, from the state that it is attached to, beside the cells that run there.
     * @param {CellView} view
     */
    runAsBranch(view) {
        const { cell } = view.props;
        if (cell.kind === 'draft' && !cell.isInside) this.page.branchFrom(cell.draft.on);
        this.run(view, 'next');
    }

    /** @param {CellView} view */
    mayTryVariants({ props: { cell } }) {
        const run = runOf(cell);
        return this.page.mayRun && cell.kind !== 'attempt' && !isText(cell) && (!run || hasEnded(run.status));
    }

    /** Asks for variants of a cell and runs them. @param {CellView} view */
    tryVariants(view) {
        const { page } = this;
        const { cell } = view.props;
        this.prompts.lastTyped = null;
        this.focus.followed = cell.key;
        return withPart('variants', page, (part) => part.tryVariants(page, cell, view.text));
    }

    /**
     * Asks for the values of a cell's parameters and runs the cell with them.
     * @param {CellView} view
     */
    sweep(view) {
        const { cell } = view.props;
        // The rows would run against the state before the cell above.
        if (
            cell.kind === 'draft' ? this.page.ownRuns.waitsFor(cell) : 'isOutdated' in cell && cell.isOutdated
        )
            return this.page.notify(ROW_WORDS.wait, false);
        return askSweep(this.page, cell, view.text);
    }

    /** Runs the cells above a cell that have not run. @param {CellView} view */
    above({ props: { cell } }) {
        void withPart('runAll', this.page, ({ runAbove }) => runAbove(this, cell.key), false);
    }

    /** Runs all cells that have not run, or were changed since. */
    all() {
        void withPart('runAll', this.page, ({ runAll }) => runAll(this), false);
    }

    /**
     * Runs all waiting drafts and focuses the first, because the pressed button disappears.
     * @param {CellData[]} waiting
     */
    waiting(waiting) {
        const [first] = waiting;
        this.page.ownRuns.runFrom();
        if (first) this.focus.cell(first.key);
    }

    /**
     * Runs a cell and all cells below it: drafts as they are, a cell that ran as a new version and,
     * if that succeeds, the drafts that repeat the cells below.
     * @param {CellView} view
     */
    below(view) {
        const { cell } = view.props;
        if (cell.kind !== 'ran') return this.page.ownRuns.runFrom(cell.key);
        this.run(view, 'stay');
        this.restAfter = this.page.newVersions.get(cell.state.id) ?? null;
    }

    /** The number of drafts that the page offers to run again; see `isRestOfLine`. */
    restCount(waiting = this.page.mayRun ? this.page.ownRuns.runnable() : []) {
        return isRestOfLine(this.page, waiting) ? waiting.length : 0;
    }

    /**
     * Runs the drafts that repeat earlier cells, and focuses the first.
     * @param {CellData[]} good
     */
    replay(good) {
        const [first] = good;
        this.page.ownRuns.replayRest();
        if (first) this.focus.cell(first.key);
    }

    /** Runs the drafts below if the run `restAfter` has succeeded. */
    onPainted() {
        const run = this.page.model.runs.get(this.restAfter ?? '');
        if (!run || !hasEnded(run.status)) return;
        this.restAfter = null;
        if (run.state && this.page.here === run.state) this.page.ownRuns.replayRest();
    }

    /**
     * Stops the run of a cell or, if the cell waits for a run above, that run. If the cell has no
     * open run, stops the oldest open run.
     * @param {CellData} [cell]
     */
    stop(cell) {
        const { model, ownRuns } = this.page;
        const above = cell && ownRuns.awaited(cell);
        let run = above ? model.runs.get(above) : cell && runOf(cell);
        while (run?.status === 'queued' && 'run' in run.on) run = model.runs.get(run.on.run);
        this.#stop(run);
    }

    /** @param {import('../shell/model.js').Run | undefined} own */
    #stop(own) {
        const run = own && !hasEnded(own.status) ? own : this.page.model.openRuns()[0];
        if (run && this.page.mayRun) this.page.ownRuns.stop(run.exec_id);
    }

    /**
     * Stops a cell, and none above it, and focuses the cell. Without that, the next key could press
     * the button that replaces Stop.
     * @param {CellData} cell
     * @param {MouseEvent} event
     */
    onStopPressed(cell, event) {
        // A double click stops once. Only a separate second click kills the process.
        if (event.detail < 2 && !this.page.ownRuns.doesNotWait(cell)) this.#stop(runOf(cell));
        this.focus.cell(cell.key);
    }

    /**
     * Runs a cell. A double click on Stop does not run it: its second click may reach the button
     * that has replaced Stop.
     * @param {CellView} view
     * @param {MouseEvent} event
     */
    onRunPressed(view, event) {
        if (event.detail < 2) this.run(view, 'stay');
        else this.focus.cell(view.props.cell.key);
    }

    /**
     * Goes to the root, where the cells become drafts.
     * @param {boolean} [runsAll] whether all drafts run then
     */
    restart(runsAll = false) {
        void withPart('runAll', this.page, ({ restart }) => restart(this, runsAll));
    }
}
