// @ts-check
// Where a state lives, how it is saved, which names are missing, and what a replay would run. Pure.

import { bytes } from '../text/format.js';
import { lineOfCell, taken } from '../text/traceback.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {{done: number, total: number}} Progress */

/** @param {State} state */
export const isInMemory = ({ living }) => living === 'memory' || living === 'freezing';

/** The names that are missing, or would be missing after loading from disk. @param {State} state */
export function missingOf({ revival, checkpoint }) {
    return revival?.by === 'checkpoint' ? revival.missing : (checkpoint?.missing ?? []);
}

/** Whether names are missing now, not only after loading from disk. @param {State} state */
export const lacksNames = (state) =>
    missingOf(state).length > 0 && (state.revival?.by === 'checkpoint' || state.living === 'disk');

/**
 * Whether only plain values may be loaded, because the checkpoint is not trusted.
 * @param {State} state
 */
export const isForeign = ({ living, checkpoint, revival }) =>
    checkpoint?.is_trusted === false &&
    (living === 'disk' || living === 'replay' || revival?.by === 'checkpoint');

/**
 * The mark at a graph node about saving and missing names.
 * @param {State} state
 * @returns {'failed' | 'writing' | 'partial' | null}
 */
export function residencyMark(state) {
    if (state.saving.now === 'failed') return 'failed';
    if (state.saving.now === 'writing') return 'writing';
    return missingOf(state).length > 0 ? 'partial' : null;
}

/**
 * Short texts about where the state lives and how it is saved.
 * @param {State} state
 * @returns {string[]}
 */
export function residencyParts(state) {
    const { living, saving, memory_bytes, checkpoint, pinned } = state;
    if (living === 'deleted') return [];
    const size = checkpoint && bytes(checkpoint.compressed_size_bytes);
    /** @type {string[]} */
    const parts = [WORDS.lives[living]];
    if (isInMemory(state) && memory_bytes !== null) parts.push(bytes(memory_bytes));
    if (living === 'disk') parts.push(...[size, WORDS.comesBack].filter((part) => part !== null));
    else if (size) parts.push(WORDS.savedAs(size));
    if (state.revival?.by === 'replay') parts.push(WORDS.replayed);
    if (saving.now === 'failed') parts.push(WORDS.notSaved);
    if (pinned) parts.push(isInMemory(state) ? WORDS.pinned : WORDS.pinnedAway);
    return parts;
}

/**
 * The residency of a state in one line, for a node's tooltip: "On disk, 1.2 MB; 2 variables could
 * not be saved".
 * @param {State} state
 * @param {Progress} [progress]
 * @param {boolean} [isUnsaved]
 */
export function residencyText(state, progress, isUnsaved = false) {
    const { saving, pinned, checkpoint, living } = state;
    if (living === 'deleted') return '';
    const size =
        living === 'disk' ? checkpoint?.compressed_size_bytes : isInMemory(state) ? state.memory_bytes : null;
    const lives = [WORDS.lives[living], size != null && bytes(size)].filter(Boolean).join(', ');
    const missing = missingOf(state).length;
    return [
        lives,
        progress && WORDS.replaying(progress.done, progress.total),
        saving.now === 'writing' && WORDS.saving(saving.percent),
        saving.now === 'failed' && WORDS.saveFailed(saving.why),
        isUnsaved && WORDS.unsaved,
        missing > 0 &&
            (state.revival?.by === 'checkpoint' ? WORDS.namesGone(missing) : WORDS.unsavable(missing)),
        isForeign(state) && WORDS.foreignShort,
        pinned && (isInMemory(state) ? WORDS.pinned : WORDS.pinnedAway),
    ]
        .filter(Boolean)
        .join('; ');
}

/**
 * Describes a partial state, with the line at which its cell failed.
 * @param {State} state
 * @param {import('../shell/model.js').Run | null | undefined} run
 */
export function partialText({ exec_count }, run) {
    return WORDS.partial(
        run?.status === 'interrupted',
        run?.error ? lineOfCell(taken(run.error).frames, exec_count) : undefined,
    );
}

/**
 * The cells that a replay of a state runs, starting below the nearest complete ancestor.
 * @param {Model} model
 * @param {string} id
 * @returns {State[]}
 */
export function cellsToReplay(model, id) {
    const line = model.lineage(id);
    const target = line.at(-1);
    if (!target || target.parent === null || isWholeInMemory(target)) return [];
    const start = line.slice(0, -1).findLastIndex((state) => state.parent === null || isWhole(state));
    return line.slice(start + 1);
}

/**
 * Whether a replay can start from a state: the rule of src/session/machine/replay.rs.
 * @param {State} state
 */
const isWhole = (state) =>
    (isWholeInMemory(state) && (state.forks || isWholeOnDisk(state))) ||
    (state.living === 'disk' && isWholeOnDisk(state));

/** @param {State} state */
const isWholeInMemory = (state) => isInMemory(state) && !lacksNames(state);

/** @param {State} state */
const isWholeOnDisk = ({ checkpoint }) =>
    checkpoint?.is_trusted && checkpoint.form === 'environment' && checkpoint.missing.length === 0;
