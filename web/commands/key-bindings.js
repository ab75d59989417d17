// @ts-check
// The table of the notebook page's commands and their keys. commands.js explains the fields.

import { addCommands, entriesWith, entryOf } from './commands.js';
import { nextTheme } from '../ui/theme.js';
import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { isText } from '../notebook/cell-list.js';
import { compareCommands } from '../compare/compare-commands.js';
import { sweepCommands } from '../sweep/sweep-commands.js';
import { tableCommands } from '../table/table-commands.js';
import { LINT_WORDS } from '../lint/lint-words.js';
import { withPart } from '../shell/lazy-parts.js';
import { openSettings } from '../notebook/header.js';
import { settings } from '../settings/settings.js';
import { SETTINGS_WORDS } from '../settings/settings-words.js';
import * as write from '../editor/editor-actions.js';

/** @typedef {import('./commands.js').Target} Target */
/** @typedef {import('./commands.js').Entry} Entry */
/** @typedef {import('../cell/cell-controller.js').CellController} CellController */

/** @type {import('./commands.js').Mode[]} */
const BOTH = ['cell', 'editor'];

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
    const key = entriesWith({ group: 'run' });
    const mayRun = (/** @type {Target} */ { view }) => page.mayRun && view !== null;
    const run =
        (/** @type {'next' | 'stay' | 'insert'} */ then) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.runs.selection(view, then);
    const inLine = (/** @type {Target} */ { view }) => {
        const cell = view?.props.cell;
        return page.mayRun && (cell?.kind === 'ran' || (cell?.kind === 'draft' && !cell.isInside));
    };
    return [
        key(
            'run.next',
            'Shift-Enter',
            WORDS.runNext,
            (at) => run(settings().advances ? 'next' : 'stay')(at),
            {
                words: WORDS.also.run,
                mode: BOTH,
                when: mayRun,
            },
        ),
        key('run.stay', 'Mod-Enter', WORDS.runStay, run('stay'), {
            words: WORDS.also.run,
            mode: BOTH,
            when: mayRun,
        }),
        key('run.insert', 'Alt-Enter', WORDS.runInsert, run('insert'), { mode: BOTH, when: mayRun }),
        key(
            'run.branch',
            'Mod-Alt-Enter',
            WORDS.runAsBranch,
            ({ view }) => view !== null && controller.runs.runAsBranch(view),
            { words: WORDS.also.branch, mode: BOTH, when: mayRun },
        ),
        key(
            'run.variants',
            'Mod-Alt-Shift-Enter',
            WORDS.tryVariants,
            ({ view }) => void (view && controller.runs.tryVariants(view)),
            {
                words: WORDS.also.branch,
                mode: BOTH,
                when: ({ view }) => view !== null && controller.runs.mayTryVariants(view),
            },
        ),
        key('run.all', 'Mod-Shift-Enter', WORDS.runAll, () => controller.runs.all(), {
            words: WORDS.also.run,
            when: () => page.mayRun,
        }),
        key('run.below', [], WORDS.runHere, ({ view }) => view !== null && controller.runs.below(view), {
            words: `${WORDS.also.replay} ${WORDS.also.below}`,
            when: inLine,
        }),
        key('run.above', [], WORDS.runAbove, ({ view }) => view !== null && controller.runs.above(view), {
            when: inLine,
        }),
        key('run.replay', [], WORDS.replay, () => page.ownRuns.replayRest(), {
            words: WORDS.also.replay,
            when: () => controller.runs.restCount() > 0,
        }),
        key('run.stop', 'Mod-.', WORDS.stop, ({ view }) => controller.runs.stop(view?.props.cell), {
            words: WORDS.also.stop,
            isOnce: true,
            mode: BOTH,
            when: () => page.mayRun && page.model.openRuns().length > 0,
        }),
        key('run.stop.cell', 'i i', WORDS.stop, ({ view }) => controller.runs.stop(view?.props.cell), {
            isOnce: true,
            mode: 'cell',
            isQuiet: true,
            when: mayRun,
        }),
        // Handles the key if no cell has the focus. Otherwise `run.stop` handles it.
        entryOf('run.stop.anywhere', 'Mod-.', WORDS.stop, () => controller.runs.stop(), {
            isOnce: true,
            isQuiet: true,
        }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function moving(controller) {
    const by =
        (/** @type {number} */ step, /** @type {boolean} */ extends_ = false) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.selected.move(view.props.cell.key, step, extends_);
    const scroll = (/** @type {number} */ pages) => () => controller.scroll(pages);
    const key = entriesWith({ group: 'move', mode: 'cell', isQuiet: true });
    const hasOthers = (/** @type {Target} */ { view }) =>
        view !== null && controller.forkAbove(view) !== undefined;
    const beside =
        (/** @type {1 | -1} */ step) =>
        (/** @type {Target} */ { view }) =>
            view !== null && controller.showBeside(view, step);
    const branch = entriesWith({ group: 'move', mode: 'cell', words: WORDS.also.branch, when: hasOthers });
    return [
        key('move.edit', 'Enter', WORDS.edit, ({ view }) => view?.focus(), { isOnce: true }),
        branch('move.branch.previous', '[', WORDS.previousBranch, beside(-1)),
        branch('move.branch.next', ']', WORDS.nextBranch, beside(1)),
        key(
            'move.leave',
            'Escape',
            WORDS.leave,
            ({ view }) => view !== null && controller.focus.cell(view.props.cell.key),
            { mode: 'editor' },
        ),
        key('move.up', ['ArrowUp', 'k'], WORDS.up, by(-1)),
        key('move.down', ['ArrowDown', 'j'], WORDS.down, by(1)),
        key(
            'move.line.up',
            'ArrowUp',
            WORDS.up,
            ({ view }) => view !== null && controller.focus.leaveByArrow(view, -1),
            { mode: 'editor' },
        ),
        key(
            'move.line.down',
            'ArrowDown',
            WORDS.down,
            ({ view }) => view !== null && controller.focus.leaveByArrow(view, 1),
            { mode: 'editor' },
        ),
        key('move.first', ['Home', 'Mod-Home', 'Mod-ArrowUp'], WORDS.first, by(-Infinity), {
            isQuiet: false,
        }),
        key('move.last', ['End', 'Mod-End', 'Mod-ArrowDown'], WORDS.last, by(Infinity), { isQuiet: false }),
        key('move.extend.up', ['Shift-ArrowUp', 'Shift-k'], WORDS.extendUp, by(-1, true)),
        key('move.extend.down', ['Shift-ArrowDown', 'Shift-j'], WORDS.extendDown, by(1, true)),
        key('move.all', 'Mod-a', WORDS.selectAll, () => controller.selected.all(), { isQuiet: false }),
        key('move.page.down', 'Space', WORDS.pageDown, scroll(0.9)),
        key('move.page.up', 'Shift-Space', WORDS.pageUp, scroll(-0.9)),
        key('graph.go', 'g', WORDS.graph, () => document.getElementById('graph')?.focus(), {
            group: 'graph',
            isQuiet: false,
        }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function cells(controller) {
    const { page } = controller;
    const may = (/** @type {Target} */ { view }) => page.mayRun && view !== null;
    const key = entriesWith({ group: 'cells', mode: 'cell', when: may });
    const of =
        (/** @type {(view: import('../cell/cell.js').Cell) => boolean | void} */ act) =>
        (/** @type {Target} */ { view }) =>
            view !== null && act(view);
    return [
        key(
            'cells.above',
            'a',
            WORDS.above,
            of((view) => controller.edits.insert(view, 'above')),
        ),
        key(
            'cells.below',
            'b',
            WORDS.below,
            of((view) => controller.edits.insert(view, 'below')),
        ),
        key(
            'cells.cut',
            'x',
            WORDS.cut,
            of((view) => controller.edits.cut(view)),
        ),
        key(
            'cells.copy',
            'c',
            WORDS.copy,
            of((view) => controller.edits.copy(view)),
            { when: ({ view }) => view !== null },
        ),
        key(
            'cells.paste',
            'v',
            WORDS.paste,
            of((view) => controller.edits.paste(view, 'below')),
        ),
        key(
            'cells.paste.above',
            'Shift-v',
            WORDS.pasteAbove,
            of((view) => controller.edits.paste(view, 'above')),
        ),
        key(
            'cells.duplicate',
            'Alt-Shift-ArrowDown',
            WORDS.duplicate,
            of((view) => controller.edits.duplicate(view)),
        ),
        key(
            'cells.remove',
            'd d',
            WORDS.remove,
            of((view) => controller.edits.removeSelected(view)),
            { words: WORDS.also.remove },
        ),
        key('cells.undo', ['z', 'Mod-z'], WORDS.undoStep, () => controller.edits.undo(), {
            words: WORDS.also.undo,
            when: () => page.mayRun,
        }),
        key('cells.redo', ['Shift-z', 'Mod-Shift-z'], WORDS.redoStep, () => controller.edits.redo(), {
            words: WORDS.also.redo,
            when: () => page.mayRun,
        }),
        key(
            'cells.text',
            'm',
            WORDS.toText,
            of((view) => controller.edits.convert(view, 'markdown')),
            { words: WORDS.also.text },
        ),
        key(
            'cells.code',
            'y',
            WORDS.toCode,
            of((view) => controller.edits.convert(view, 'code')),
        ),
        key(
            'cells.raw',
            'r',
            WORDS.toRaw,
            of((view) => controller.edits.convert(view, 'raw')),
        ),
        ...[1, 2, 3, 4, 5, 6].map((level) =>
            key(
                `controller.heading.${level}`,
                String(level),
                WORDS.toHeading(level),
                of((view) => controller.edits.convertToHeading(view, level)),
                { sheet: WORDS.toAnyHeading, isQuiet: level > 3 },
            ),
        ),
        key(
            'cells.up',
            'Mod-Shift-ArrowUp',
            WORDS.moveUp,
            of((view) => controller.edits.move(view, -1)),
            { mode: BOTH },
        ),
        key(
            'cells.down',
            'Mod-Shift-ArrowDown',
            WORDS.moveDown,
            of((view) => controller.edits.move(view, 1)),
            { mode: BOTH },
        ),
        key(
            'cells.split',
            ['Mod-Shift-Minus', 'Mod-_'],
            WORDS.split,
            of((view) => controller.edits.split(view)),
            { mode: 'editor' },
        ),
        key(
            'cells.merge',
            'Shift-m',
            WORDS.merge,
            of((view) => controller.edits.merge(view)),
        ),
        key(
            'cells.merge.above',
            'Mod-Backspace',
            WORDS.mergeAbove,
            of((view) => controller.edits.mergeAbove(view)),
        ),
        key(
            'cells.fold',
            'o',
            WORDS.fold,
            of((view) => controller.fold(view)),
            { when: ({ view }) => view !== null },
        ),
        key(
            'cells.fold.code',
            'Shift-o',
            WORDS.foldCode,
            of((view) => controller.foldCode(view)),
            { words: WORDS.also.fold, when: ({ view }) => view !== null && !isText(view.props.cell) },
        ),
        key(
            'cells.section.fold',
            'ArrowLeft',
            WORDS.foldSection,
            of((view) => controller.sectionCommands.fold(view)),
            { words: WORDS.also.section, when: ({ view }) => view !== null },
        ),
        key(
            'cells.section.unfold',
            'ArrowRight',
            WORDS.unfoldSection,
            of((view) => controller.sectionCommands.unfold(view)),
            { words: WORDS.also.section, when: ({ view }) => view !== null },
        ),
        key(
            'cells.sections.fold',
            'Mod-Shift-ArrowLeft',
            WORDS.foldSections,
            () => controller.sectionCommands.foldAll(true),
            { words: WORDS.also.section, when: () => true },
        ),
        key(
            'cells.sections.unfold',
            'Mod-Shift-ArrowRight',
            WORDS.unfoldSections,
            () => controller.sectionCommands.foldAll(false),
            { words: WORDS.also.section, when: () => true },
        ),
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
    const key = entriesWith({
        group: 'write',
        mode: 'editor',
        isQuiet: true,
        when: ({ view }) => view !== null && controller.page.mayRun,
    });
    return [
        key('write.complete', 'Tab', WORDS.complete, on(write.complete), { when: isCode }),
        key('write.complete.anyway', 'Mod-Space', WORDS.complete, on(write.startCompletion), {
            when: isCode,
        }),
        key('write.inspect', 'Shift-Tab', WORDS.inspect, on(write.inspect), { when: isCode }),
        key('write.comment', 'Mod-/', WORDS.comment, on(write.toggleComment), { isQuiet: false }),
        key('write.indent', 'Mod-]', WORDS.indent, on(write.indentMore)),
        key('write.dedent', 'Mod-[', WORDS.dedent, on(write.indentLess)),
        key('write.next', 'Mod-d', WORDS.nextSame, on(write.selectNextOccurrence)),
        key('write.all', 'Mod-Shift-l', WORDS.allSame, on(write.selectSelectionMatches)),
        key(
            'write.erase',
            'Backspace',
            WORDS.erase,
            ({ view }) => view !== null && controller.edits.eraseEmpty(view),
        ),
        key(
            'write.format',
            ['Mod-Alt-l', 'Alt-Shift-f'],
            LINT_WORDS.format,
            ({ view }) => void (view && controller.format(view)),
            {
                words: LINT_WORDS.alsoFormat,
                mode: BOTH,
                isQuiet: false,
                when: (at) => controller.page.mayRun && isCode(at) && at.view?.props.cell.kind !== 'attempt',
            },
        ),
        entryOf('write.format.all', [], LINT_WORDS.formatAll, () => void controller.formatDrafts(), {
            words: LINT_WORDS.alsoFormat,
            group: 'write',
            when: () => controller.page.mayRun,
        }),
        ...problems(controller, on),
        entryOf('write.numbers', ['l', 'Shift-l'], WORDS.numbers, () => write.toggleNumbers(), {
            group: 'write',
            mode: 'cell',
        }),
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
    const key = entriesWith({ group: 'write', mode: 'editor', words: LINT_WORDS.alsoProblems });
    return [
        key('problems.list', 'Mod-Shift-m', LINT_WORDS.problems, act('toggleList')),
        key('problems.next', 'F8', LINT_WORDS.next, act('goToNext')),
        key('problems.before', 'Shift-F8', LINT_WORDS.before, act('goToPrevious'), { isQuiet: true }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function finding(controller) {
    const { page } = controller;
    const key = entriesWith({ group: 'find' });
    return [
        key('find.open', 'Mod-f', WORDS.find, () => controller.find(false), { words: WORDS.also.find }),
        key('find.replace', ['Mod-h', 'Mod-Alt-f'], WORDS.replace, () => controller.find(true), {
            when: () => page.mayRun,
        }),
        key('find.next', ['F3', 'Mod-g'], WORDS.findNext, () => controller.finder?.go(1), {
            isQuiet: true,
            when: () => controller.finder?.isOpen ?? false,
        }),
        key('find.before', ['Shift-F3', 'Mod-Shift-g'], WORDS.findBefore, () => controller.finder?.go(-1), {
            isQuiet: true,
            when: () => controller.finder?.isOpen ?? false,
        }),
    ];
}

/** @param {CellController} controller @returns {Entry[]} */
function whole(controller) {
    const { page } = controller;
    return [
        entryOf('all.palette', ['Mod-Shift-p', 'F1'], WORDS.palette, () => controller.showPalette(), {
            isQuiet: true,
        }),
        entryOf('all.palette.cell', 'p', WORDS.palette, () => controller.showPalette(), {
            mode: 'cell',
            isQuiet: true,
        }),
        entryOf(
            'all.keys',
            '?',
            WORDS.keys,
            () => void withPart('sheet', page, ({ showShortcuts }) => showShortcuts()),
            { words: WORDS.also.keys, mode: 'cell' },
        ),
        entryOf('all.save', 'Mod-s', WORDS.save, () => controller.saveNow(), { words: WORDS.also.save }),
        entryOf('all.theme', [], WORDS.theme, () => nextTheme(), { words: WORDS.also.theme }),
        entryOf('all.settings', 'Mod-,', SETTINGS_WORDS.menu, () => openSettings(page), {
            words: SETTINGS_WORDS.also,
        }),
        entryOf('all.restart', '0 0', WORDS.restart, () => void controller.runs.restart(), {
            words: WORDS.also.restart,
            mode: 'cell',
            when: () => page.mayRun,
        }),
        entryOf('all.restart.run', [], WORDS.restartRun, () => void controller.runs.restart(true), {
            words: WORDS.also.restart,
            when: () => page.mayRun,
        }),
    ];
}
