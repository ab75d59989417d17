// @ts-check
// Find in all cells and their outputs, and replace in the cells: the list of matches, the current
// match, and the panel.

import { runOrStale, textOf } from '../notebook/cell-list.js';
import { patternOf, nextMatch } from './matches.js';
import { Component, html } from '../vendor/preact.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { FIND_WORDS as SAY } from './find-words.js';
import { mark } from './match-highlights.js';
import { markOutputs } from './output-highlights.js';
import { scrollToCode, scrollToMatch } from './scroll-to-match.js';
import { searchedOutputs } from './searched-outputs.js';
import { TextSearch } from './text-search.js';
import { cellElement } from '../cell/focus.js';
import { Frame } from '../outputs/frame.js';
import { isOutputFolded, toggleFold } from '../outputs/outputs.js';
import { isUntrustedHeld } from '../outputs/untrusted-output.js';
import { CloseIcon, DownIcon, OnIcon, UpIcon, icon } from '../ui/icons.js';

/** The letters “ab”, underlined. */
const WholeWordIcon = icon(
    'M6.5 5.5v5M6.5 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0M9.5 3v7.5M13.5 8a2 2 0 1 1-4 0 2 2 0 0 1 4 0M2 13.3h12',
);

/** @typedef {import('../notebook/cell-list.js').Cell} CellData */
/**
 * @typedef {{cell: number, key: string, part: number, nth: number, from: number, to: number}} Found
 *   A match. `cell`: the cell's index; `part`: 0 for its code, k for its k-th output; `nth`: its
 *   index among the matches in that text; `from` and `to`: offsets in that text.
 */

/** @typedef {import('./matches.js').Matches} Matches */

/** The height of a row of a table in a frame, in px. */
const ROW = 28;

/** The maximum length of a selection that `open` takes as the query, in characters. */
const LONGEST_SEED = 200;

export class Finder {
    /** @param {import('../cell/cell-controller.js').CellController} controller */
    constructor(controller) {
        this.controller = controller;
        this.isOpen = false;
        this.replaces = false;
        this.query = { text: '', isCase: false, isWord: false, isRegex: false };
        this.by = '';
        /** @type {RegExp | string | null} */
        this.pattern = null;
        this.texts = new TextSearch(() => this.#onMatches());
        /** The matches in a text; another function when more of them are known. */
        this.spansOf = this.#lookUp();
        /** @type {Found[]} */
        this.found = [];
        /** Whether there are more matches: in cells, and in outputs. */
        this.isCut = { cells: false, outputs: false };
        /**
         * The matches that were known last, by cell and part. They are shown while a regular
         * expression searches the changed text.
         * @type {Map<string, Matches>}
         */
        this.last = new Map();
        /** Whether the first matches of the query are not known yet. */
        this.isArriving = false;
        /** How often the user has asked for the next match while `isArriving`. */
        this.steps = 0;
        /** Continues when more matches are known. @type {() => void} */
        this.resume = () => {};
        /** Replacing, one after the other. @type {Promise<void>} */
        this.replacing = Promise.resolve();
        /** The index of the current match in `found`; -1 for none. */
        this.at = -1;
        /**
         * Where the search continues.
         * @type {import('./matches.js').Position}
         */
        this.origin = { cell: 0, at: 0 };
        /** Whether the current match is in an output that the next paint shows. */
        this.isOpening = false;
    }

    /** @param {boolean} replaces */
    open(replaces) {
        const { view } = this.controller.target();
        const editor = view?.editor?.view;
        const own =
            editor && document.activeElement === editor.contentDOM
                ? editor.state.sliceDoc(editor.state.selection.main.from, editor.state.selection.main.to)
                : String(getSelection() ?? '');
        if (
            own &&
            own.length <= LONGEST_SEED &&
            !own.includes('\n') &&
            !document.activeElement?.closest('.find-panel')
        )
            this.query = { ...this.query, text: own };
        if (!this.isOpen) {
            const cells = this.controller.page.cells();
            const isTyping = editor && document.activeElement === editor.contentDOM;
            this.origin = {
                cell: Math.max(
                    0,
                    cells.findIndex((cell) => cell.key === view?.props.cell.key),
                ),
                at: isTyping ? editor.state.selection.main.from : 0,
            };
        }
        this.isOpen = true;
        this.replaces = replaces || this.replaces;
        this.search(this.query);
        this.controller.page.host.paintNow();
        const field = /** @type {HTMLInputElement | null} */ (document.querySelector('.find-panel input'));
        field?.focus();
        field?.select();
    }

    /** Shows the replace row and focuses its field, or hides the row and focuses the find field. */
    toggleReplace() {
        this.replaces = !this.replaces;
        this.search(this.query);
        this.controller.page.host.paintNow();
        /** @type {HTMLElement | null} */ (
            document.querySelector(this.replaces ? '.find-by' : '.find-text')
        )?.focus();
    }

    close() {
        const here = this.found[this.at];
        this.isOpen = false;
        this.replaces = false;
        this.texts.close();
        this.resume();
        mark(null);
        markOutputs(null, [], null, () => {});
        this.#outline(null);
        this.controller.page.host.paintNow();
        const key = here?.key ?? this.controller.focus.last?.key ?? '';
        const view = this.controller.focus.views.get(key);
        if (here?.part === 0 && view?.editor?.view) view.focus();
        else this.controller.focus.cell(key);
    }

    /**
     * Finds all matches and goes to the first match from `origin` on.
     * @param {Finder['query']} query
     */
    search(query) {
        this.query = query;
        this.pattern = patternOf(query);
        this.texts.start(this.pattern instanceof RegExp ? this.pattern : null, query.isRegex);
        this.spansOf = this.#lookUp();
        this.last.clear();
        this.resume();
        this.steps = 0;
        this.at = -1;
        this.isArriving = !this.#find(this.controller.page.cells());
        if (!this.isArriving) this.#arrive();
        this.controller.page.host.requestPaint();
    }

    #lookUp() {
        return (/** @type {string} */ text) => this.texts.of(text)?.spans ?? null;
    }

    /** Goes to the first match from `origin` on. */
    #arrive() {
        this.isArriving = false;
        this.at = nextMatch(this.found, this.origin, 1);
        const { length } = this.found;
        if (length > 0) this.at = (((this.at + this.steps) % length) + length) % length;
        this.#reveal();
    }

    /** More matches are known, or there is trouble. */
    #onMatches() {
        this.spansOf = this.#lookUp();
        if (this.isArriving) {
            this.#find(this.controller.page.cells());
            this.#arrive();
        }
        this.resume();
        this.controller.page.host.requestPaint();
    }

    /** @param {1 | -1} step */
    go(step) {
        if (this.isArriving) {
            this.steps += step;
            return;
        }
        const now = this.found[this.at];
        this.at = nextMatch(
            this.found,
            now ? { ...now, at: step === 1 ? now.from + 1 : now.from } : this.origin,
            step,
        );
        this.#reveal();
        this.controller.page.host.requestPaint();
    }

    /** The matches that can be replaced: those in cells, not in outputs. */
    get inCells() {
        return this.found.filter(({ part }) => part === 0);
    }

    /** The searched texts of a cell: its code, and its outputs. @param {CellData} cell */
    #textsOf(cell) {
        return [{ text: textOf(cell), table: null }, ...searchedOutputs(runOrStale(cell), isUntrustedHeld())];
    }

    /**
     * @param {CellData[]} cells
     * @returns {boolean} false if the matches in some text are not known yet
     */
    #find(cells) {
        this.found = [];
        this.isCut = { cells: false, outputs: false };
        if (!(this.pattern instanceof RegExp) || this.texts.trouble) return true;
        const { last } = this;
        this.last = new Map();
        this.texts.forget();
        let isWhole = true;
        for (const [cell, one] of cells.entries()) {
            for (const [part, { text }] of this.#textsOf(one).entries()) {
                const name = `${one.key} ${part}`;
                const known = this.texts.of(text);
                if (!known) isWhole = false;
                const matches = known ?? last.get(name);
                if (!matches) continue;
                this.last.set(name, matches);
                if (matches.isCut) this.isCut[part === 0 ? 'cells' : 'outputs'] = true;
                for (const [nth, span] of matches.spans.entries())
                    this.found.push({ ...span, cell, key: one.key, part, nth });
            }
        }
        return isWhole;
    }

    /**
     * Called after each paint. Finds all matches again, because the cells may have changed.
     * @param {CellData[]} cells
     */
    onPainted(cells) {
        if (!this.isOpen) return;
        const now = this.found[this.at];
        const count = this.found.length;
        this.#find(cells);
        this.at = now ? this.found.findIndex((one) => isSame(one, now)) : -1;
        const here = this.#mark();
        if (this.isOpening && here) {
            this.isOpening = false;
            this.#scrollTo(here);
        }
        if (this.found.length !== count) this.controller.page.host.requestPaint();
    }

    /** @returns {ReturnType<typeof markOutputs>} the current match if it is in an output */
    #mark() {
        const now = this.found[this.at];
        const isCode = now?.part === 0;
        const view = (isCode && this.controller.focus.views.get(now.key)?.editor?.view) || null;
        const spansOf = this.pattern instanceof RegExp && !this.texts.trouble ? this.spansOf : null;
        mark(spansOf, view, isCode ? now.from : undefined);
        this.#outline(isCode && !view ? now.key : null);
        return this.#markOutputs(spansOf, now);
    }

    /**
     * @param {import('./match-highlights.js').SpansOf | null} spansOf
     * @param {Found | undefined} now
     */
    #markOutputs(spansOf, now) {
        const cells = this.controller.page.cells();
        /** @type {import('./output-highlights.js').FoundCell[]} */
        const found = [];
        for (const one of spansOf ? cells : []) {
            const outputs = new Map();
            for (const [part, searched] of this.#textsOf(one).entries()) {
                const spans = part > 0 && this.last.get(`${one.key} ${part}`)?.spans;
                if (spans && spans.length > 0) outputs.set(part - 1, { searched, spans });
            }
            const cell = outputs.size > 0 && cellElement(one.key);
            if (cell) found.push({ cell, outputs });
        }
        const cell = now && now.part > 0 ? cellElement(now.key) : null;
        const here = cell && now ? { cell, output: now.part - 1, nth: now.nth } : null;
        return markOutputs(spansOf, found, here, () => this.#mark());
    }

    /**
     * Outlines the cell of the current match if the match is in rendered Markdown, where the match
     * itself cannot be highlighted.
     * @param {string | null} key the cell to outline; null: none
     */
    #outline(key) {
        for (const cell of document.querySelectorAll('.cell'))
            cell.toggleAttribute('data-found', cell.getAttribute('data-cell') === key);
    }

    #reveal() {
        const now = this.found[this.at];
        if (now) {
            this.origin = { ...now, at: now.from };
            this.controller.sections.reveal(now.key);
            if (now.part > 0) return this.#revealOutput(now);
            const cell = this.controller.focus.views.get(now.key);
            if (cell?.isFolded) cell.fold(false);
            const editor = cell?.editor;
            editor?.make();
            const view = editor?.view;
            if (view && now.to <= view.state.doc.length)
                view.dispatch({ selection: { anchor: now.from, head: now.to } });
            this.#mark();
            if (view) return scrollToCode(view, now.from);
            const element = cellElement(now.key);
            if (element) scrollToMatch(element, () => element.getBoundingClientRect());
        } else this.#mark();
        return undefined;
    }

    /**
     * Scrolls to a match in an output.
     * @param {NonNullable<ReturnType<typeof markOutputs>>} here
     */
    #scrollTo(here) {
        if (here instanceof Frame) return this.#scrollToFrame(here);
        if ('grid' in here) {
            here.grid.scrollToRow(here.row);
            return scrollToMatch(here.element, () => here.element.getBoundingClientRect());
        }
        const element = here instanceof Range ? here.startContainer.parentElement : here;
        if (element) scrollToMatch(element, () => here.getBoundingClientRect());
    }

    /**
     * Scrolls to a frame and, once the frame has told where it is, to the match in there.
     * @param {Frame} frame
     */
    #scrollToFrame(frame) {
        const { element } = frame;
        if (!element) return;
        const now = this.found[this.at];
        const box = () => element.getBoundingClientRect();
        frame.onFound = (at) => {
            frame.onFound = () => {};
            const row = () => ({ top: box().top + at, bottom: box().top + at + ROW });
            // The page has to give the frame its height first.
            const scroll = () => {
                const one = this.found[this.at];
                if (this.isOpen && one && now && isSame(one, now)) scrollToMatch(element, row);
            };
            requestAnimationFrame(() => requestAnimationFrame(scroll));
        };
        if (frame.port && frame.found) frame.mark(frame.found);
        else scrollToMatch(element, box);
    }

    /** Expands collapsed outputs, and scrolls to a match in them. @param {Found} now */
    #revealOutput(now) {
        const cell = this.controller.page.cells()[now.cell];
        const id = cell && runOrStale(cell)?.exec_id;
        this.isOpening = isOutputFolded(id);
        if (this.isOpening) toggleFold(id);
        const here = this.#mark();
        if (here) this.#scrollTo(here);
    }

    /** Replaces the current match if it is in a cell, and goes to the next match in a cell. */
    replaceOne() {
        this.replacing = this.replacing.then(() => this.#replaceOne());
    }

    async #replaceOne() {
        const now = this.found[this.at];
        if (!now || !(this.pattern instanceof RegExp)) return;
        if (now.part === 0) {
            const lengthBefore = this.#lengthOf(now);
            await this.#rewrite([now.key], false, now);
            this.origin = { ...now, at: now.to + this.#lengthOf(now) - lengthBefore };
            await this.#findAgain();
        }
        const { inCells } = this;
        const next = inCells[nextMatch(inCells, this.origin, 1)];
        this.at = next ? this.found.indexOf(next) : nextMatch(this.found, this.origin, 1);
        this.controller.page.host.paintNow();
        this.#reveal();
    }

    /** Finds the matches in changed texts. */
    async #findAgain() {
        const { pattern } = this;
        while (!this.#find(this.controller.page.cells()) && pattern === this.pattern && this.isOpen)
            await new Promise((done) => (this.resume = () => done(null)));
    }

    /** The length of the text that has a match. @param {Found} match */
    #lengthOf({ key }) {
        const cell = this.controller.page.cells().find((one) => one.key === key);
        return cell ? textOf(cell).length : 0;
    }

    replaceAll() {
        this.replacing = this.replacing.then(async () => {
            if (!(this.pattern instanceof RegExp)) return;
            await this.#rewrite([...new Set(this.inCells.map(({ key }) => key))], true, null);
            this.at = -1;
        });
    }

    /**
     * Replaces matches in cells.
     * @param {string[]} keys the keys of the cells
     * @param {boolean} isSaid whether to show a notice with an Undo button
     * @param {Found | null} only the only match to replace; null: replace all matches
     */
    async #rewrite(keys, isSaid, only) {
        const before = new Map(
            this.controller.page
                .cells()
                .filter(({ key }) => keys.includes(key))
                .map((cell) => [cell.key, textOf(cell)]),
        );
        const texts = await this.texts.replaced([...before.values()], this.by, only?.from);
        if (!texts) return;
        const after = new Map([...before.keys()].map((key, i) => [key, texts[i] ?? '']));
        // Meanwhile, the user or somebody else may have typed.
        const changes = this.controller.page
            .cells()
            .filter((cell) => textOf(cell) === before.get(cell.key))
            .map(({ key }) => ({ key, text: after.get(key) ?? '' }));
        this.controller.edits.replaceTexts(changes, isSaid);
    }
}

/** @param {Found} one @param {Found} other */
const isSame = (one, other) => one.key === other.key && one.part === other.part && one.from === other.from;

/** @extends {Component<{finder: Finder}, {}>} */
export class FindPanel extends Component {
    /** A disabled button gets no keys, so the focus leaves a button that becomes disabled. */
    componentDidUpdate() {
        if (document.activeElement?.matches('.find-panel :disabled'))
            /** @type {HTMLElement | null} */ (document.querySelector('.find-text'))?.focus();
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { finder } = this.props;
        const { query } = finder;
        const isField = /** @type {Element} */ (event.target).matches('.find-text');
        const isBy = /** @type {Element} */ (event.target).matches('.find-by');
        const toggle = event.altKey && { KeyC: 'isCase', KeyW: 'isWord', KeyR: 'isRegex' }[event.code];
        if (event.isComposing) return;
        if (event.key === 'Escape') finder.close();
        else if (toggle) finder.search({ ...query, [toggle]: !query[/** @type {'isCase'} */ (toggle)] });
        else if (event.key === 'Enter' && isField) finder.go(event.shiftKey ? -1 : 1);
        else if (event.key === 'Enter' && isBy)
            event.ctrlKey || event.metaKey ? finder.replaceAll() : finder.replaceOne();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    render() {
        const { finder } = this.props;
        if (!finder.isOpen) return null;
        const { query, pattern, found, at, replaces, controller } = finder;
        const { trouble } = finder.texts;
        const isWrong = typeof pattern === 'string';
        const isCut = finder.isCut.cells || finder.isCut.outputs;
        const count = isWrong
            ? SAY.wrongPattern
            : trouble
              ? SAY[trouble]
              : !query.text
                ? ''
                : found.length
                  ? SAY.matchOf(at + 1, found.length, isCut)
                  : finder.isArriving
                    ? SAY.searching
                    : SAY.noMatch;
        // The query may have changed since it was painted.
        const change = (/** @type {object} */ changes) => finder.search({ ...finder.query, ...changes });
        const typed = (/** @type {any} */ event) => change({ text: event.target.value });
        const toggle = (
            /** @type {'isCase' | 'isWord' | 'isRegex'} */ which,
            /** @type {unknown} */ face,
            /** @type {string} */ hint,
        ) => html`
            <button class="tool" aria-pressed=${query[which] ? 'true' : 'false'} aria-label=${hint}
                title=${hint} onClick=${() => change({ [which]: !finder.query[which] })}>
                ${face}</button>`;
        const isReplacing = replaces && controller.page.mayRun;
        const none = found.length === 0;
        const inCells = finder.inCells.length;
        // Tab goes from the first field to the second, so both come before the buttons.
        return html`
            <div class="find-panel" role="search" aria-label=${WORDS.find}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                ${
                    controller.page.mayRun &&
                    html`<button class="tool find-more"
                    aria-expanded=${replaces ? 'true' : 'false'} aria-label=${SAY.showReplace}
                    title=${`${SAY.showReplace} (Ctrl-H)`} onClick=${() => finder.toggleReplace()}>
                    ${replaces ? html`<${DownIcon} />` : html`<${OnIcon} />`}</button>`
                }
                <input class="field find-text" type="text" value=${query.text}
                    aria-label=${SAY.findLabel} placeholder=${SAY.findLabel}
                    aria-invalid=${isWrong || trouble === 'slow' ? 'true' : null}
                    title=${isWrong ? pattern : null}
                    spellcheck="false" autocomplete="off" onInput=${typed} />
                ${
                    isReplacing &&
                    html`<input class="field find-by" type="text" value=${finder.by}
                    aria-label=${SAY.replaceLabel} placeholder=${SAY.replaceLabel} spellcheck="false"
                    autocomplete="off"
                    onInput=${(/** @type {any} */ event) => (finder.by = event.target.value)} />`
                }
                <div class="find-acts">
                    <span class="find-how">
                        ${toggle('isCase', 'Aa', SAY.caseHint)}${toggle(
                            'isWord',
                            html`<${WholeWordIcon} />`,
                            SAY.wordHint,
                        )}${toggle('isRegex', '.*', SAY.regexHint)}</span>
                    <span class="find-count" role="status">${count}</span>
                    <button class="tool" disabled=${none} aria-label=${WORDS.findBefore}
                        title=${`${WORDS.findBefore} (Shift-Enter)`} onClick=${() => finder.go(-1)}>
                        <${UpIcon} /></button>
                    <button class="tool" disabled=${none} aria-label=${WORDS.findNext}
                        title=${`${WORDS.findNext} (Enter)`} onClick=${() => finder.go(1)}>
                        <${DownIcon} /></button>
                    <button class="tool" aria-label=${SAY.close} title=${`${SAY.close} (Esc)`}
                        onClick=${() => finder.close()}><${CloseIcon} /></button>
                </div>
                ${
                    isReplacing &&
                    html`<div class="find-acts">
                    <button class="button" data-frame disabled=${inCells === 0}
                        onClick=${() => finder.replaceOne()}>${SAY.replaceOne}</button>
                    <button class="button" data-frame disabled=${inCells === 0}
                        onClick=${() => finder.replaceAll()}>${SAY.replaceAll}</button>
                    <span class="find-in-cells" role="status" title=${SAY.outputsStay}>
                        ${inCells < found.length && SAY.inCells(inCells, finder.isCut.cells)}</span>
                </div>`
                }
                ${
                    trouble &&
                    html`<p class="find-trouble" role="status">${
                        trouble === 'slow' ? SAY.slowWhy : SAY.missingWhy
                    }</p>`
                }
            </div>`;
    }
}
