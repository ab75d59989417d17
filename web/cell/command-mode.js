// @ts-check
// What the keys of command mode do, to one cell or to all that are selected.

import { Keys, namesOf } from '../commands/commands.js';
import { Editing, isRest } from './cell-edits.js';
import { isText, runOf, textOf } from '../notebook/cell-list.js';
import { hasEnded } from '../shell/protocol.js';
import { Selection } from './selection.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { WORDS as WHOLE } from '../shell/words.js';
import { bindAll } from '../commands/key-bindings.js';
import { ask } from '../ui/dialog.js';
import { forgetEverything, mayForget } from '../notebook/header.js';
import { withPart } from '../shell/lazy-parts.js';
import { toggleFold } from '../outputs/outputs.js';
import { saveNow } from '../notebook/save-now.js';

/** @typedef {import('./cell.js').Cell} CellView */
/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/** @typedef {import('../commands/commands.js').Place} Place */

export class Gestures {
    /** @param {import('./cell-controller.js').Acts} acts */
    constructor(acts) {
        this.acts = acts;
        this.page = acts.page;
        this.editing = new Editing(acts.page);
        this.selection = new Selection();
        this.presses = new Keys();
        /** From the first search on. @type {import('../find/find-panel.js').Finder | null} */
        this.finder = null;
        /** A cell that is on its way to another place: the focus goes with it. @type {{key: string, asCell: boolean, index: number} | null} */
        this.moving = null;
        /** The run whose success is followed by the rest of the line. @type {string | null} */
        this.restAfter = null;
        /** Shows or hides what is beside the cells. @type {{graph: () => void, variables: () => void} | null} */
        this.panes = null;
        /** What is read out, politely. */
        this.said = '';
        bindAll(this);
    }

    // Keys

    /**
     * Does what a key means; answers whether it meant anything.
     * @param {import('../commands/commands.js').Mode} mode @param {CellView | null} view @param {KeyboardEvent} event
     */
    press(mode, view, event) {
        if (event.isComposing || event.getModifierState('AltGraph')) return false;
        const at = { view };
        for (const entry of this.presses.press(mode, namesOf(event), performance.now(), at)) {
            // It is done to cells as they are, not as they were painted last.
            if (mode === 'cell') this.page.around.ifDue();
            if ((event.repeat && entry.isOnce) || entry.act(at) !== false) return true;
        }
        return this.presses.isWaiting;
    }

    /** The cell that has the focus, or had it last. @returns {Place} */
    place() {
        const key =
            document.activeElement?.closest('.cell')?.getAttribute('data-cell') ?? this.acts.focused?.key;
        return { view: this.acts.views.get(key ?? '') ?? null };
    }

    // Running

    /** @param {CellView} view @param {'next' | 'stay' | 'insert'} then */
    runSelected(view, then) {
        const drafts = this.#selected(view).filter((one) => one.props.cell.kind === 'draft');
        if (drafts.length < 2) return view.run(then);
        for (const one of drafts) this.acts.run(one, 'stay');
        const last = drafts[drafts.length - 1];
        if (then === 'next') this.acts.go({ after: last.props.cell.key });
        if (then === 'insert') this.acts.insertBelow(last.props.cell);
        return undefined;
    }

    /** Runs the drafts above a cell. @param {string} key */
    runAbove(key) {
        const keys = this.page.cells().map((cell) => cell.key);
        const above = this.page.runnable().filter((cell) => keys.indexOf(cell.key) < keys.indexOf(key));
        for (const cell of above) this.page.run(cell, cell.draft.source);
    }

    /** Runs a cell that ran again; when that went well, what followed it, too. @param {CellView} view */
    runAndRest(view) {
        this.acts.run(view, 'stay');
        const { cell } = view.props;
        this.restAfter = cell.kind === 'ran' ? (this.page.edits.get(cell.state.id)?.run ?? null) : null;
    }

    /** How many drafts wait here that followed an earlier version of a cell. */
    restHere() {
        const waiting = this.page.mayRun ? this.page.runnable() : [];
        return isRest(this.page, waiting) ? waiting.length : 0;
    }

    /** After each event: the run that the rest was to follow may have left its state. */
    #goOn() {
        const run = this.page.model.runs.get(this.restAfter ?? '');
        if (!run || !hasEnded(run.status)) return;
        this.restAfter = null;
        if (run.state && this.page.here === run.state) this.page.runFrom();
    }

    // Which cells

    /** @param {CellView} view @returns {CellView[]} it, or all that are selected with it, in order */
    #selected(view) {
        const keys = this.selection.keys(this.page.cells().map((cell) => cell.key));
        const own = view.props.cell.key;
        return (keys.includes(own) ? keys : [own]).flatMap((key) => this.acts.views.get(key) ?? []);
    }

    /** Goes from a cell to another in command mode. @param {string} key @param {number} step @param {boolean} extends_ whether the cells between become selected */
    walk(key, step, extends_) {
        const cells = this.page.cells();
        const next =
            cells[
                Math.max(0, Math.min(cells.length - 1, cells.findIndex((cell) => cell.key === key) + step))
            ];
        if (!next) return;
        if (extends_) this.selection.extend(key, next.key);
        else this.selection.only(next.key);
        this.acts.focusCell(next.key);
        this.#showSelection(cells);
    }

    selectAll() {
        const cells = this.page.cells();
        this.selection.anchor = cells[0]?.key ?? null;
        this.selection.head = this.acts.focused?.key ?? null;
        const last = cells.at(-1);
        if (!last) return;
        this.selection.head = last.key;
        this.acts.focusCell(last.key);
        this.#showSelection(cells);
    }

    /** The focus came to a cell, by whatever way. @param {Element} target */
    focusCame(target) {
        const key = target.closest('.cell')?.getAttribute('data-cell') ?? null;
        this.selection.moved(key);
        const cells = this.page.cells();
        this.acts.noteFocus(target, cells);
        if (target.closest('.cm-editor')) this.selection.only(key);
        this.#showSelection(cells);
    }

    /** @param {CellData[]} cells */
    #showSelection(cells) {
        const keys = this.selection.keys(cells.map((cell) => cell.key));
        for (const cell of document.querySelectorAll('.cell')) {
            cell.toggleAttribute(
                'data-selected',
                keys.length > 1 && keys.includes(cell.getAttribute('data-cell') ?? ''),
            );
        }
        this.say(keys.length > 1 ? WORDS.selected(keys.length) : '');
    }

    /** Tells those who listen. @param {string} text */
    say(text) {
        if (this.said === text) return;
        this.said = text;
        const region = document.getElementById('said');
        if (region) region.textContent = text;
    }

    /** @param {number} pages */
    scroll(pages) {
        const main = document.querySelector('main');
        main?.scrollBy({ top: pages * main.clientHeight });
    }

    // Cells

    /** @param {CellView} view @param {'above' | 'below'} where */
    insert(view, where) {
        const { cell } = view.props;
        const key =
            where === 'above'
                ? this.editing.above(cell)
                : (this.#freshBelow(cell) ?? this.editing.below(cell));
        this.acts.go({ key, asCell: true });
    }

    /** Below the last cell there is an empty one already. @param {CellData} cell */
    #freshBelow(cell) {
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        return next?.kind === 'draft' && next.isFresh ? next.key : null;
    }

    /** @param {CellView} view */
    copy(view) {
        const pieces = this.#selected(view).map((one) => ({
            kind: /** @type {'code' | 'markdown'} */ (isText(one.props.cell) ? 'markdown' : 'code'),
            source: one.text,
        }));
        this.acts.cuttings.copy(pieces);
    }

    /** @param {CellView} view @param {'above' | 'below'} where */
    paste(view, where) {
        let { cell } = view.props;
        const pieces = this.acts.cuttings.copied;
        let first = null;
        /** @type {string[]} */
        const made = [];
        for (const piece of where === 'above' ? pieces : pieces.toReversed()) {
            const key = where === 'above' ? this.editing.above(cell, piece) : this.editing.below(cell, piece);
            first = where === 'above' ? (first ?? key) : key;
            made.push(key);
            cell = this.page.cells().find((one) => one.key === view.props.cell.key) ?? cell;
        }
        if (!first) return;
        this.acts.cuttings.added(made, () => view.props.cell.key);
        this.acts.go({ key: first, asCell: true });
    }

    /** @param {CellView} view */
    cut(view) {
        this.copy(view);
        this.#remove(view, WORDS.copiedRan);
    }

    /** @param {CellView} view */
    removeSelected(view) {
        this.#remove(view, WORDS.staysRan);
    }

    /** Drafts go; what ran stays, and that is said. @param {CellView} view @param {(n: number) => string} stays */
    #remove(view, stays) {
        const cells = this.#selected(view).map((one) => one.props.cell);
        const drafts = this.editing.movable(cells);
        const ran = cells.filter((cell) => cell.kind === 'ran');
        if (drafts.length) {
            const all = this.page.cells();
            const gone = new Set(drafts.map((cell) => cell.key));
            const at = all.findIndex((cell) => cell.key === cells.at(-1)?.key);
            const next =
                all.slice(at).find((cell) => !gone.has(cell.key)) ??
                all.findLast((cell) => !gone.has(cell.key));
            this.acts.cuttings.remove(
                drafts.map(({ draft }) => draft),
                () => this.acts.putBack(),
            );
            if (next) this.acts.focusCell(next.key);
        } else if (ran.length) {
            this.page.say(stays(ran.length), false, {
                act: { text: WORDS.goOnWithout, act: () => this.editing.leaveOut(ran) },
            });
        }
    }

    /** @param {CellView} view @param {'code' | 'markdown'} kind */
    turn(view, kind) {
        const drafts = this.#drafts(view, WORDS.onlyDraftsKind);
        for (const cell of drafts) this.page.setKind(cell, kind);
        if (drafts.length) this.acts.go({ key: view.props.cell.key, asCell: true });
    }

    /** @param {CellView} view @param {number} level */
    heading(view, level) {
        for (const cell of this.#drafts(view, WORDS.onlyDraftsKind)) {
            const text = textOf(cell).replace(/^\s*#*\s*/, '');
            this.page.setKind(cell, 'markdown');
            const now = this.page.cells().find((one) => one.key === cell.key);
            if (now) this.page.type(now, `${'#'.repeat(level)} ${text}`);
        }
        this.acts.go({ key: view.props.cell.key });
    }

    /** The drafts that are meant; says so where there are none. @param {CellView} view @param {string} why */
    #drafts(view, why) {
        const drafts = this.#selected(view)
            .map((one) => one.props.cell)
            .filter((cell) => cell.kind === 'draft');
        if (!drafts.length)
            this.page.say(why, false, {
                act: {
                    text: WORDS.copyAsDraft,
                    act: () => this.acts.go({ key: this.page.copyAsDraft(view.text) }),
                },
            });
        return drafts;
    }

    /** @param {CellView} view @param {1 | -1} step */
    move(view, step) {
        const cells = this.editing.movable(this.#selected(view).map((one) => one.props.cell));
        if (!cells.length)
            return void (view.props.cell.kind === 'ran' && this.#drafts(view, WORDS.onlyDrafts));
        return this.#moved(
            view,
            this.editing.step(
                cells.map(({ draft }) => draft.id),
                step,
            ),
            cells,
            step,
        );
    }

    /** @param {CellView} view @param {boolean} isDone @param {import('./cell-edits.js').DraftCell[]} cells @param {number} step */
    #moved(view, isDone, cells, step) {
        if (!isDone) return;
        const { key } = view.props.cell;
        this.moving = {
            key,
            asCell: document.activeElement?.matches('.cell') ?? true,
            index: this.page.cells().findIndex((cell) => cell.key === key),
        };
        const order = this.page.drafts.beside(cells[0].draft).map(({ id }) => id);
        this.say(WORDS.moved(order.indexOf(cells[0].draft.id) + 1 + step, order.length));
    }

    /** Drafts were dragged to another place. @param {string[]} ids @param {string | null} after */
    dropped(ids, after) {
        this.editing.place(ids, after);
    }

    /** The drafts that are dragged with one. @param {CellView} view @returns {string[]} */
    dragged(view) {
        const cells = this.editing.movable(this.#selected(view).map((one) => one.props.cell));
        const { cell } = view.props;
        return cell.kind === 'draft'
            ? cells.filter(({ draft }) => draft.on === cell.draft.on).map(({ draft }) => draft.id)
            : [];
    }

    /** @param {CellView} view */
    split(view) {
        const { cell } = view.props;
        const state = view.editor?.view?.state;
        if (!state) return;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const whole = state.doc.toString();
        const made = this.editing.split(
            cell,
            whole,
            state.selection.ranges.flatMap(({ from, to, empty }) => (empty ? [from] : [from, to])),
        );
        const first = this.page.drafts.get(cell.draft.id)?.source;
        this.acts.cuttings.added(made, () => {
            const now = this.page.drafts.get(cell.draft.id);
            if (now && now.source === first) this.page.drafts.put({ ...now, source: whole });
            return cell.key;
        });
        this.acts.go({ key: made.at(-1) ?? cell.key });
    }

    /** @param {CellView} view */
    merge(view) {
        const { cell } = view.props;
        if (cell.kind !== 'draft') return void this.#drafts(view, WORDS.onlyDrafts);
        const selected = this.editing.movable(this.#selected(view).map((one) => one.props.cell));
        const cells = this.page.cells();
        const next = cells[cells.findIndex((one) => one.key === cell.key) + 1];
        const both = selected.length > 1 ? selected : next ? this.editing.movable([cell, next]) : [];
        const same = both.filter(({ draft }) => draft.on === both[0].draft.on);
        if (same.length < 2) return void this.page.say(WORDS.nothingBelow, false);
        const undo = this.editing.merge(same, () => this.acts.go({ key: same[0].key, asCell: true }));
        this.acts.cuttings.did(() => {
            if (this.page.notice?.act?.text === WORDS.undo) this.page.hush();
            return undo() ? same[0].key : null;
        });
        this.selection.only(same[0].key);
        this.acts.go({ key: same[0].key, asCell: true });
    }

    /** @param {CellView} view */
    fold(view) {
        for (const { props } of this.#selected(view)) toggleFold(runOf(props.cell)?.exec_id);
    }

    // The notebook

    /** @param {boolean} replaces */
    find(replaces) {
        withPart('finder', this.page, ({ Finder }) => {
            this.finder ??= new Finder(this.acts, this.editing);
            this.finder.open(replaces);
        });
    }

    showPalette() {
        withPart('palette', this.page, ({ showPalette }) => showPalette(this.place()));
    }

    saveNow() {
        saveNow(this.page);
    }

    /** As Jupyter's restart; it has the focus only while nothing can be lost by it. */
    async restart() {
        const { page } = this;
        const running = () =>
            page
                .cells()
                .flatMap((cell) => runOf(cell) ?? [])
                .filter(({ status }) => !hasEnded(status));
        const other = mayForget(page)
            ? { text: WHOLE.reset, act: () => void forgetEverything(page) }
            : undefined;
        const n = running().length;
        const answer = await ask({
            title: WHOLE.restartAsk,
            why: WHOLE.restartWhy(n),
            act: WHOLE.restartDo,
            isBad: n > 0,
            other,
        });
        if (answer === null) return;
        for (const run of running()) page.stop(run.exec_id);
        const first = this.editing.restart();
        if (first) this.acts.go({ key: first, asCell: true });
    }

    /** After each paint. @param {CellData[]} cells */
    painted(cells) {
        const { moving } = this;
        const index = cells.findIndex((cell) => cell.key === moving?.key);
        if (moving && index !== moving.index) {
            this.moving = null;
            if (moving.asCell) this.acts.focusCell(moving.key);
            else this.acts.views.get(moving.key)?.focus();
        }
        this.#showSelection(cells);
        this.finder?.painted(cells);
        this.#goOn();
    }
}
