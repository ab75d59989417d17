// @ts-check
// The table of the notebook page's commands and their keys. commands.js explains the fields.

import { addCommands } from './commands.js';
import { nextTheme } from '../ui/theme.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { isText } from '../notebook/cell-list.js';
import { compareCommands } from '../compare/compare-commands.js';
import { sweepCommands } from '../sweep/sweep-commands.js';
import { tableCommands } from '../table/table-commands.js';
import { LINT_WORDS } from '../lint/lint-words.js';
import { withPart } from '../shell/lazy-parts.js';
import { openSettings } from '../notebook/header.js';
import { SETTINGS_WORDS } from '../settings/settings-words.js';
import * as write from '../editor/editor-actions.js';

/** @typedef {import('./commands.js').Target} Target */
/** @typedef {import('./commands.js').Entry} Entry */
/** @typedef {import('../cell/cell-controller.js').CellController} CellController */

/** @param {CellController} controller */
export function bindAll(controller) {
    addCommands([
        ...running(controller),
        ...moving(controller),
        ...cells(controller),
        ...writing(controller),
        ...finding(controller),
        ...whole(controller),
        ...compareCommands(controller),
        ...sweepCommands(controller),
        ...tableCommands(controller),
    ]);
}

/** @param {CellController} controller @returns {Entry[]} */
function running(controller) {
    const { page } = controller;
    const both = /** @type {import('./commands.js').Mode[]} */ (['cell', 'editor']);
    const mayRun = (/** @type {Target} */ { view }) => page.mayRun && view !== null;
    const run =
        (/** @type {'next' | 'stay' | 'insert'} */ then) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.runs.selection(view, then);
    const draft = (/** @type {Target} */ { view }) =>
        page.mayRun && view?.props.cell.kind === 'draft' && !view.props.cell.isInside;
    const ran = (/** @type {Target} */ { view }) => page.mayRun && view?.props.cell.kind === 'ran';
    return [
        {
            id: 'run.next',
            title: WORDS.runNext,
            words: WORDS.also.run,
            group: 'run',
            key: 'Shift-Enter',
            mode: both,
            when: mayRun,
            act: run('next'),
        },
        {
            id: 'run.stay',
            title: WORDS.runStay,
            words: WORDS.also.run,
            group: 'run',
            key: 'Mod-Enter',
            mode: both,
            when: mayRun,
            act: run('stay'),
        },
        {
            id: 'run.insert',
            title: WORDS.runInsert,
            group: 'run',
            key: 'Alt-Enter',
            mode: both,
            when: mayRun,
            act: run('insert'),
        },
        {
            id: 'run.branch',
            title: WORDS.runAsBranch,
            words: WORDS.also.branch,
            group: 'run',
            key: 'Mod-Alt-Enter',
            mode: both,
            when: mayRun,
            act: ({ view }) => view !== null && controller.runs.runAsBranch(view),
        },
        {
            id: 'run.variants',
            title: WORDS.tryVariants,
            words: WORDS.also.branch,
            group: 'run',
            key: 'Mod-Alt-Shift-Enter',
            mode: both,
            when: ({ view }) => view !== null && controller.runs.mayTryVariants(view),
            act: ({ view }) => void (view && controller.runs.tryVariants(view)),
        },
        {
            id: 'run.all',
            title: WORDS.runAll,
            words: WORDS.also.run,
            group: 'run',
            key: 'Mod-Shift-Enter',
            when: () => page.mayRun,
            act: () => controller.runs.all(),
        },
        {
            id: 'run.below',
            title: WORDS.runHere,
            words: WORDS.also.below,
            group: 'run',
            when: draft,
            act: ({ view }) => view !== null && controller.runs.below(view),
        },
        {
            id: 'run.above',
            title: WORDS.runAbove,
            group: 'run',
            when: draft,
            act: ({ view }) => view !== null && page.ownRuns.runAbove(view.props.cell.key),
        },
        {
            id: 'run.rest',
            title: WORDS.runRest,
            words: `${WORDS.also.replay} ${WORDS.also.below}`,
            group: 'run',
            when: ran,
            act: ({ view }) => view !== null && controller.runs.below(view),
        },
        // In a changed cell, the key runs the drafts only after the cell itself.
        {
            id: 'run.rest.changed',
            title: WORDS.runRest,
            group: 'run',
            key: 'Mod-Shift-Enter',
            mode: both,
            isQuiet: true,
            when: (at) => {
                const cell = at.view?.props.cell;
                return ran(at) && cell?.kind === 'ran' && page.edits.get(cell.state.id)?.run === null;
            },
            act: ({ view }) => view !== null && controller.runs.andRest(view),
        },
        {
            id: 'run.replay',
            title: WORDS.replay,
            words: WORDS.also.replay,
            group: 'run',
            when: () => controller.runs.restCount() > 0,
            act: () => page.ownRuns.replayRest(),
        },
        {
            id: 'run.stop',
            title: WORDS.stop,
            words: WORDS.also.stop,
            group: 'run',
            isOnce: true,
            key: 'Mod-.',
            mode: both,
            when: () => page.mayRun && page.model.openRuns().length > 0,
            act: ({ view }) => controller.runs.stop(view?.props.cell),
        },
        {
            id: 'run.stop.cell',
            title: WORDS.stop,
            group: 'run',
            isOnce: true,
            key: 'i i',
            mode: 'cell',
            isQuiet: true,
            when: mayRun,
            act: ({ view }) => controller.runs.stop(view?.props.cell),
        },
        // Handles the key if no cell has the focus. Otherwise `run.stop` handles it.
        {
            id: 'run.stop.anywhere',
            title: WORDS.stop,
            isOnce: true,
            key: 'Mod-.',
            isQuiet: true,
            act: () => controller.runs.stop(),
        },
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function moving(controller) {
    const by =
        (/** @type {number} */ step, /** @type {boolean} */ extends_ = false) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.selected.move(view.props.cell.key, step, extends_);
    const scroll = (/** @type {number} */ pages) => () => controller.scroll(pages);
    /** @type {(more: Entry) => Entry} */
    const key = (more) => ({ group: 'move', mode: 'cell', isQuiet: true, ...more });
    const hasOthers = (/** @type {Target} */ { view }) =>
        view !== null && 'beside' in view.props.cell && view.props.cell.beside.length > 1;
    const beside =
        (/** @type {1 | -1} */ step) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.showBeside(view, step);
    /** @type {(more: Entry) => Entry} */
    const branch = (more) => key({ words: WORDS.also.branch, isQuiet: false, when: hasOthers, ...more });
    return [
        key({
            id: 'move.edit',
            title: WORDS.edit,
            isOnce: true,
            key: 'Enter',
            act: ({ view }) => view?.focus(),
        }),
        branch({ id: 'move.branch.previous', title: WORDS.previousBranch, key: '[', act: beside(-1) }),
        branch({ id: 'move.branch.next', title: WORDS.nextBranch, key: ']', act: beside(1) }),
        key({
            id: 'move.leave',
            title: WORDS.leave,
            key: 'Escape',
            mode: 'editor',
            act: ({ view }) => view !== null && controller.focus.cell(view.props.cell.key),
        }),
        key({ id: 'move.up', title: WORDS.up, key: ['ArrowUp', 'k'], act: by(-1) }),
        key({ id: 'move.down', title: WORDS.down, key: ['ArrowDown', 'j'], act: by(1) }),
        key({
            id: 'move.line.up',
            title: WORDS.up,
            key: 'ArrowUp',
            mode: 'editor',
            act: ({ view }) => view !== null && controller.focus.leaveByArrow(view, -1),
        }),
        key({
            id: 'move.line.down',
            title: WORDS.down,
            key: 'ArrowDown',
            mode: 'editor',
            act: ({ view }) => view !== null && controller.focus.leaveByArrow(view, 1),
        }),
        key({
            id: 'move.first',
            title: WORDS.first,
            key: ['Home', 'Mod-Home', 'Mod-ArrowUp'],
            isQuiet: false,
            act: by(-Infinity),
        }),
        key({
            id: 'move.last',
            title: WORDS.last,
            key: ['End', 'Mod-End', 'Mod-ArrowDown'],
            isQuiet: false,
            act: by(Infinity),
        }),
        key({
            id: 'move.extend.up',
            title: WORDS.extendUp,
            key: ['Shift-ArrowUp', 'Shift-k'],
            act: by(-1, true),
        }),
        key({
            id: 'move.extend.down',
            title: WORDS.extendDown,
            key: ['Shift-ArrowDown', 'Shift-j'],
            act: by(1, true),
        }),
        key({
            id: 'move.all',
            title: WORDS.selectAll,
            key: 'Mod-a',
            isQuiet: false,
            act: () => controller.selected.all(),
        }),
        key({ id: 'move.page.down', title: WORDS.pageDown, key: 'Space', act: scroll(0.9) }),
        key({ id: 'move.page.up', title: WORDS.pageUp, key: 'Shift-Space', act: scroll(-0.9) }),
        key({
            id: 'graph.go',
            title: WORDS.graph,
            group: 'graph',
            key: 'g',
            isQuiet: false,
            act: () => document.getElementById('graph')?.focus(),
        }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function cells(controller) {
    const { page } = controller;
    const may = (/** @type {Target} */ { view }) => page.mayRun && view !== null;
    /** @type {(more: Entry) => Entry} */
    const key = (more) => ({ group: 'cells', mode: 'cell', when: may, ...more });
    const both = /** @type {import('./commands.js').Mode[]} */ (['cell', 'editor']);
    const of =
        (/** @type {(view: import('../cell/cell.js').Cell) => boolean | void} */ act) =>
        (/** @type {Target} */ { view }) =>
            view !== null && act(view);
    return [
        key({
            id: 'cells.above',
            title: WORDS.above,
            key: 'a',
            act: of((view) => controller.edits.insert(view, 'above')),
        }),
        key({
            id: 'cells.below',
            title: WORDS.below,
            key: 'b',
            act: of((view) => controller.edits.insert(view, 'below')),
        }),
        key({ id: 'cells.cut', title: WORDS.cut, key: 'x', act: of((view) => controller.edits.cut(view)) }),
        key({
            id: 'cells.copy',
            title: WORDS.copy,
            key: 'c',
            when: ({ view }) => view !== null,
            act: of((view) => controller.edits.copy(view)),
        }),
        key({
            id: 'cells.paste',
            title: WORDS.paste,
            key: 'v',
            act: of((view) => controller.edits.paste(view, 'below')),
        }),
        key({
            id: 'cells.paste.above',
            title: WORDS.pasteAbove,
            key: 'Shift-v',
            act: of((view) => controller.edits.paste(view, 'above')),
        }),
        key({
            id: 'cells.remove',
            title: WORDS.remove,
            words: WORDS.also.remove,
            key: 'd d',
            act: of((view) => controller.edits.removeSelected(view)),
        }),
        key({
            id: 'cells.undo',
            title: WORDS.putBack,
            words: WORDS.also.undo,
            key: ['z', 'Mod-z'],
            when: () => page.mayRun,
            act: () => controller.edits.undo(),
        }),
        key({
            id: 'cells.text',
            title: WORDS.toText,
            words: WORDS.also.text,
            key: 'm',
            act: of((view) => controller.edits.convert(view, 'markdown')),
        }),
        key({
            id: 'cells.code',
            title: WORDS.toCode,
            key: 'y',
            act: of((view) => controller.edits.convert(view, 'code')),
        }),
        ...[1, 2, 3, 4, 5, 6].map((level) =>
            key({
                id: `controller.heading.${level}`,
                title: WORDS.toHeading(level),
                sheet: WORDS.toAnyHeading,
                key: String(level),
                isQuiet: level > 3,
                act: of((view) => controller.edits.convertToHeading(view, level)),
            }),
        ),
        key({
            id: 'cells.up',
            title: WORDS.moveUp,
            key: 'Mod-Shift-ArrowUp',
            mode: both,
            act: of((view) => controller.edits.move(view, -1)),
        }),
        key({
            id: 'cells.down',
            title: WORDS.moveDown,
            key: 'Mod-Shift-ArrowDown',
            mode: both,
            act: of((view) => controller.edits.move(view, 1)),
        }),
        key({
            id: 'cells.split',
            title: WORDS.split,
            key: ['Mod-Shift-Minus', 'Mod-_'],
            mode: 'editor',
            act: of((view) => controller.edits.split(view)),
        }),
        key({
            id: 'cells.merge',
            title: WORDS.merge,
            key: 'Shift-m',
            act: of((view) => controller.edits.merge(view)),
        }),
        key({
            id: 'cells.fold',
            title: WORDS.fold,
            key: 'o',
            when: ({ view }) => view !== null,
            act: of((view) => controller.fold(view)),
        }),
        key({
            id: 'cells.fold.code',
            title: WORDS.foldCode,
            words: WORDS.also.fold,
            key: 'Shift-o',
            when: ({ view }) => view !== null && !isText(view.props.cell),
            act: of((view) => controller.foldCode(view)),
        }),
        key({
            id: 'cells.section.fold',
            title: WORDS.foldSection,
            words: WORDS.also.section,
            key: 'ArrowLeft',
            when: ({ view }) => view !== null,
            act: of((view) => controller.sectionCommands.fold(view)),
        }),
        key({
            id: 'cells.section.unfold',
            title: WORDS.unfoldSection,
            words: WORDS.also.section,
            key: 'ArrowRight',
            when: ({ view }) => view !== null,
            act: of((view) => controller.sectionCommands.unfold(view)),
        }),
        key({
            id: 'cells.sections.fold',
            title: WORDS.foldSections,
            words: WORDS.also.section,
            key: 'Mod-Shift-ArrowLeft',
            when: () => true,
            act: () => controller.sectionCommands.foldAll(true),
        }),
        key({
            id: 'cells.sections.unfold',
            title: WORDS.unfoldSections,
            words: WORDS.also.section,
            key: 'Mod-Shift-ArrowRight',
            when: () => true,
            act: () => controller.sectionCommands.foldAll(false),
        }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function writing(controller) {
    const on =
        (/** @type {(view: import('../vendor/codemirror.js').EditorView) => boolean} */ act) =>
        (/** @type {Target} */ { view }) => {
            const editor = view?.editor?.view;
            return editor !== null && editor !== undefined && act(editor);
        };
    const isCode = (/** @type {Target} */ { view }) => view !== null && !isText(view.props.cell);
    /** @type {(more: Entry) => Entry} */
    const key = (more) => ({
        group: 'write',
        mode: 'editor',
        isQuiet: true,
        when: ({ view }) => view !== null && controller.page.mayRun,
        ...more,
    });
    return [
        key({
            id: 'write.complete',
            title: WORDS.complete,
            key: 'Tab',
            when: isCode,
            act: on(write.complete),
        }),
        key({
            id: 'write.complete.anyway',
            title: WORDS.complete,
            key: 'Mod-Space',
            when: isCode,
            act: on(write.startCompletion),
        }),
        key({
            id: 'write.inspect',
            title: WORDS.inspect,
            key: 'Shift-Tab',
            when: isCode,
            act: on(write.inspect),
        }),
        key({
            id: 'write.comment',
            title: WORDS.comment,
            key: 'Mod-/',
            isQuiet: false,
            act: on(write.toggleComment),
        }),
        key({ id: 'write.indent', title: WORDS.indent, key: 'Mod-]', act: on(write.indentMore) }),
        key({ id: 'write.dedent', title: WORDS.dedent, key: 'Mod-[', act: on(write.indentLess) }),
        key({ id: 'write.next', title: WORDS.nextSame, key: 'Mod-d', act: on(write.selectNextOccurrence) }),
        key({
            id: 'write.all',
            title: WORDS.allSame,
            key: 'Mod-Shift-l',
            act: on(write.selectSelectionMatches),
        }),
        key({
            id: 'write.erase',
            title: WORDS.erase,
            key: 'Backspace',
            act: ({ view }) => view !== null && controller.edits.eraseEmpty(view),
        }),
        key({
            id: 'write.format',
            title: LINT_WORDS.format,
            words: LINT_WORDS.alsoFormat,
            key: ['Mod-Alt-l', 'Alt-Shift-f'],
            mode: ['cell', 'editor'],
            isQuiet: false,
            when: (at) => controller.page.mayRun && isCode(at) && at.view?.props.cell.kind !== 'attempt',
            act: ({ view }) => void (view && controller.format(view)),
        }),
        {
            id: 'write.format.all',
            title: LINT_WORDS.formatAll,
            words: LINT_WORDS.alsoFormat,
            group: 'write',
            when: () => controller.page.mayRun,
            act: () => void controller.formatDrafts(),
        },
        ...problems(controller, on),
        {
            id: 'write.numbers',
            title: WORDS.numbers,
            group: 'write',
            key: ['l', 'Shift-l'],
            mode: 'cell',
            act: () => write.toggleNumbers(),
        },
    ];
}

/**
 * @param {CellController} controller
 * @param {(act: (view: import('../vendor/codemirror.js').EditorView) => boolean) =>
 *   (at: Target) => boolean} on
 * @returns {Entry[]}
 */
function problems(controller, on) {
    /** @type {(act: 'toggleList' | 'goToNext' | 'goToPrevious') => Entry['act']} */
    const act = (name) =>
        on((view) => {
            void withPart('lint', controller.page, (part) => part[name](view));
            return true;
        });
    const entry = { group: /** @type {const} */ ('write'), mode: /** @type {const} */ ('editor') };
    const words = LINT_WORDS.alsoProblems;
    return [
        {
            ...entry,
            id: 'problems.list',
            title: LINT_WORDS.problems,
            words,
            key: 'Mod-Shift-m',
            act: act('toggleList'),
        },
        { ...entry, id: 'problems.next', title: LINT_WORDS.next, words, key: 'F8', act: act('goToNext') },
        {
            ...entry,
            id: 'problems.before',
            title: LINT_WORDS.before,
            words,
            key: 'Shift-F8',
            isQuiet: true,
            act: act('goToPrevious'),
        },
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function finding(controller) {
    const { page } = controller;
    return [
        {
            id: 'find.open',
            title: WORDS.find,
            words: WORDS.also.find,
            group: 'find',
            key: 'Mod-f',
            act: () => controller.find(false),
        },
        {
            id: 'find.replace',
            title: WORDS.replace,
            group: 'find',
            key: ['Mod-h', 'Mod-Alt-f'],
            when: () => page.mayRun,
            act: () => controller.find(true),
        },
        {
            id: 'find.next',
            title: WORDS.findNext,
            group: 'find',
            key: ['F3', 'Mod-g'],
            isQuiet: true,
            when: () => controller.finder?.isOpen ?? false,
            act: () => controller.finder?.go(1),
        },
        {
            id: 'find.before',
            title: WORDS.findBefore,
            group: 'find',
            key: ['Shift-F3', 'Mod-Shift-g'],
            isQuiet: true,
            when: () => controller.finder?.isOpen ?? false,
            act: () => controller.finder?.go(-1),
        },
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function whole(controller) {
    const { page } = controller;
    return [
        {
            id: 'all.palette',
            title: WORDS.palette,
            key: ['Mod-Shift-p', 'F1'],
            isQuiet: true,
            act: () => controller.showPalette(),
        },
        {
            id: 'all.palette.cell',
            title: WORDS.palette,
            key: 'p',
            mode: 'cell',
            isQuiet: true,
            act: () => controller.showPalette(),
        },
        {
            id: 'all.keys',
            title: WORDS.keys,
            words: WORDS.also.keys,
            key: '?',
            mode: 'cell',
            act: () => void withPart('sheet', page, ({ showShortcuts }) => showShortcuts()),
        },
        {
            id: 'all.save',
            title: WORDS.save,
            words: WORDS.also.save,
            key: 'Mod-s',
            act: () => controller.saveNow(),
        },
        {
            id: 'all.theme',
            title: WORDS.theme,
            words: WORDS.also.theme,
            act: () => nextTheme(),
        },
        {
            id: 'all.settings',
            title: SETTINGS_WORDS.menu,
            words: SETTINGS_WORDS.also,
            key: 'Mod-,',
            act: () => openSettings(page),
        },
        {
            id: 'all.restart',
            title: WORDS.restart,
            words: WORDS.also.restart,
            key: '0 0',
            mode: 'cell',
            when: () => page.mayRun,
            act: () => void controller.runs.restart(),
        },
        {
            id: 'all.restart.run',
            title: WORDS.restartRun,
            words: WORDS.also.restart,
            when: () => page.mayRun,
            act: () => void controller.runs.restart(true),
        },
    ];
}
