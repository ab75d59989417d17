// @ts-check
// Finds problems in the code of the cells while the user types, and marks them: the syntax error of
// the cell that is edited, from the notebook's Python, and ruff's diagnostics of all cells, if the
// user has ruff.

import { isText, textOf } from '../notebook/cell-list.js';
import { onSettings, settings } from '../settings/settings.js';
import { lint } from './lint-api.js';
import { LINT_WORDS as WORDS } from './lint-words.js';
import { areSame, ofRuff, ofSyntax } from './problems.js';
import { markProblems } from './problem-marks.js';

/** @typedef {import('../notebook/cell-list.js').Cell} Cell */
/** @typedef {import('./problems.js').CodeCell} CodeCell */
/** @typedef {import('./problems.js').Problem} Problem */

/** How long the user must pause typing before the code is checked, in milliseconds. */
const SYNTAX_PAUSE_MS = 500;
const RUFF_PAUSE_MS = 900;
/** How often a check without an answer is tried, and the pause between tries, in milliseconds. */
const CHECKS = 5;
const CHECK_PAUSE_MS = 2000;
/** If ruff is missing, how long the page waits before it asks for ruff again, in milliseconds. */
const MISSING_MS = 60_000;

/** @type {readonly Problem[]} */
const NONE = Object.freeze([]);

export class CodeProblems {
    /** @param {import('../cell/cell-controller.js').CellController} controller */
    constructor(controller) {
        this.controller = controller;
        this.page = controller.page;
        /** The code cells of the last paint. @type {CodeCell[]} */
        this.cells = [];
        /** The cells that ruff saw last. @type {CodeCell[]} */
        this.linted = [];
        /** The cells whose syntax will be checked. @type {Set<string>} */
        this.unchecked = new Set();
        /** @type {Map<string, readonly Problem[]>} */
        this.syntax = new Map();
        /** @type {Map<string, readonly Problem[]>} */
        this.ruff = new Map();
        /**
         * What each editor shows.
         * @type {WeakMap<object, {syntax: readonly Problem[], ruff: readonly Problem[]}>}
         */
        this.shown = new WeakMap();
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        this.syntaxTimer = undefined;
        /** @type {ReturnType<typeof setTimeout> | undefined} */
        this.ruffTimer = undefined;
        this.isLinting = false;
        /** When ruff was not found. */
        this.missingAt = -Infinity;
        this.failure = '';
        onSettings(() => this.onPainted(this.page.cells()));
        this.onPainted(this.page.cells());
    }

    /** Called after each paint. @param {Cell[]} cells */
    onPainted(cells) {
        const isOn = settings().diagnostics && this.page.mayRun && this.page.connection === 'open';
        const code = isOn ? cells.filter((cell) => !isText(cell)).map(codeOf) : [];
        if (!areSame(code, this.cells)) {
            const before = new Map(this.cells.map(({ key, text }) => [key, text]));
            this.cells = code;
            this.#forgetOthers();
            for (const { key, text } of code) {
                const was = before.get(key);
                // A cell that is new here was typed if it has the focus: this part was loaded late.
                const isTyped =
                    was !== undefined || this.controller.focus.views.get(key)?.editor?.view?.hasFocus;
                if (isTyped && was !== text) this.#checkLater(key);
            }
            clearTimeout(this.ruffTimer);
            this.ruffTimer = setTimeout(() => this.#lint(), RUFF_PAUSE_MS);
        }
        this.#show();
    }

    /** Ruff is there now. */
    onInstalled() {
        this.missingAt = -Infinity;
        this.linted = [];
        void this.#lint();
    }

    #forgetOthers() {
        const keys = new Set(this.cells.map(({ key }) => key));
        for (const known of [this.syntax, this.ruff])
            for (const key of known.keys()) if (!keys.has(key)) known.delete(key);
    }

    /** @param {string} key */
    #checkLater(key) {
        this.unchecked.add(key);
        clearTimeout(this.syntaxTimer);
        this.syntaxTimer = setTimeout(() => {
            for (const one of this.unchecked) this.#check(one, this.#textOf(one));
            this.unchecked.clear();
        }, SYNTAX_PAUSE_MS);
    }

    /** @param {string} key */
    #textOf(key) {
        return this.cells.find((cell) => cell.key === key)?.text;
    }

    /**
     * @param {string} key
     * @param {string | undefined} text
     * @param {number} [checks] how often to try
     */
    async #check(key, text, checks = CHECKS) {
        if (text === undefined || this.#textOf(key) !== text) return;
        const error = await this.controller.assist.check(key, text);
        if (this.#textOf(key) !== text) return;
        if (error === undefined) {
            if (checks > 1) setTimeout(() => this.#check(key, text, checks - 1), CHECK_PAUSE_MS);
            return;
        }
        this.syntax.set(key, ofSyntax(text, error));
        this.#show();
    }

    /** @returns {Promise<void>} */
    async #lint() {
        const { cells } = this;
        if (performance.now() - this.missingAt < MISSING_MS) return;
        if (this.isLinting || !cells.some(({ text }) => text.trim())) return;
        if (areSame(cells, this.linted)) {
            // Text that was deleted and restored has lost its marks.
            this.shown = new WeakMap();
            return this.#show();
        }
        this.isLinting = true;
        const answer = await lint(
            this.page.model.name,
            cells.map(({ text }) => text),
        );
        this.isLinting = false;
        if (!areSame(cells, this.cells)) return this.#lint();
        if (!answer) return;
        this.linted = cells;
        if (answer.ruff === null) this.missingAt = performance.now();
        if (answer.failure && answer.failure !== this.failure)
            this.page.notify(WORDS.ruffFailed(answer.failure), true);
        this.failure = answer.failure ?? '';
        this.ruff = ofRuff(cells, answer.problems);
        this.#show();
    }

    /** Marks the problems in the editors that do not show them yet. */
    #show() {
        for (const [key, { editor }] of this.controller.focus.views) {
            if (!editor) continue;
            const syntax = this.syntax.get(key) ?? NONE;
            const ruff = this.ruff.get(key) ?? NONE;
            const shown = this.shown.get(editor) ?? { syntax: NONE, ruff: NONE };
            if (shown.syntax === syntax && shown.ruff === ruff) continue;
            this.shown.set(editor, { syntax, ruff });
            const all = [...syntax, ...ruff];
            editor.showMarks((view) => markProblems(view, all));
        }
    }
}

/** @param {Cell} cell @returns {CodeCell} */
const codeOf = (cell) => ({ key: cell.key, text: textOf(cell) });
