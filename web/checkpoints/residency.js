// @ts-check
// The residency of a state: texts about it, the missing variables, and the cells that a replay
// would run. Pure.

import { bytes } from '../text/format.js';
import { lineOfCell, taken } from '../text/traceback.js';
import { otherSeries } from '../python/python-names.js';
import { WORDS } from '../shell/words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {{done: number, total: number}} Progress */

/** What a restore reads from disk in a second, in bytes: measured 0.5 s for an array of 800 MB. */
const RESTORED_PER_SECOND = 1e9;

/** @param {State} state */
export const isInMemory = ({ living }) => living === 'memory' || living === 'freezing';

/**
 * The variables that a state lacks, or would lack after it is loaded from its checkpoint.
 * @param {State} state
 */
export function missingOf({ revival, checkpoint }) {
    return revival?.by === 'checkpoint' ? revival.missing : (checkpoint?.missing ?? []);
}

/**
 * The variables of a state that its checkpoint changes when it is loaded.
 * @param {State} state
 */
export const changedOf = ({ living, checkpoint }) =>
    living === 'deleted' ? [] : (checkpoint?.changed ?? []);

/**
 * Whether a state lacks variables now. False for a state in memory whose variables are only missing
 * from its checkpoint.
 * @param {State} state
 */
export const lacksNames = (state) =>
    missingOf(state).length > 0 && (state.revival?.by === 'checkpoint' || state.living === 'disk');

/**
 * Whether the server may load only the plain values of a state, because the state's checkpoint is
 * not trusted.
 * @param {State} state
 */
export const isForeign = ({ living, checkpoint, revival }) =>
    checkpoint?.is_trusted === false &&
    (living === 'disk' || living === 'replay' || revival?.by === 'checkpoint');

/**
 * The Python that saved a state, if another version runs now and so loads only the plain values;
 * else null.
 * @param {State} state
 * @param {import('../shell/protocol.js').Python | null} python the notebook's
 */
export const savedByOther = ({ living, checkpoint, revival }, python) =>
    living === 'disk' || revival?.by === 'checkpoint' ? otherSeries(checkpoint, python) : null;

/**
 * The sign beside a graph node: `failed` after a failed save, `writing` during a save, `partial` if
 * the state or its checkpoint lacks or changes variables, else null.
 * @param {State} state
 * @returns {'failed' | 'writing' | 'partial' | null}
 */
export function residencyMark(state) {
    if (state.saving.now === 'failed') return 'failed';
    if (state.saving.now === 'writing') return 'writing';
    return missingOf(state).length + changedOf(state).length > 0 ? 'partial' : null;
}

/**
 * The memory that only the state's process uses, and the memory that it shares with those of other
 * states. Null if the state is not in memory or was not measured yet.
 * @param {State} state
 */
function memoryOf(state) {
    const { memory_bytes: own, shared_bytes: shared } = state;
    if (!isInMemory(state) || own === null) return null;
    return WORDS.memory(bytes(own), shared == null ? null : bytes(shared));
}

/** The memory that is much for a cell, in bytes. */
const LARGE_BYTES = 100e6;

/** The memory of a state, in bytes, if it is known. @param {State | undefined} state */
const wholeMemory = (state) =>
    state && isInMemory(state) && state.memory_bytes !== null
        ? state.memory_bytes + (state.shared_bytes ?? 0)
        : null;

/**
 * What a cell has added to the memory of the state before it, if that is much: a text.
 * @param {State} state
 * @param {State | undefined} base the state before
 */
export function largeMemory(state, base) {
    const [before, after] = [wholeMemory(base), wholeMemory(state)];
    const added = before === null || after === null ? 0 : after - before;
    return added > LARGE_BYTES ? `+${bytes(added)}` : null;
}

/**
 * Short texts about a state's residency, memory, checkpoint and pin.
 * @param {State} state
 * @returns {string[]}
 */
export function residencyParts(state) {
    const { living, saving, checkpoint, pinned } = state;
    if (living === 'deleted') return [];
    const size = checkpoint && bytes(checkpoint.compressed_size_bytes);
    /** @type {string[]} */
    const parts = [WORDS.lives[living]];
    const memory = memoryOf(state);
    if (memory) parts.push(memory);
    if (living === 'disk') parts.push(...[size, WORDS.comesBack].filter((part) => part !== null));
    else if (size) parts.push(WORDS.savedAs(size));
    if (state.revival?.by === 'replay') parts.push(WORDS.replayed);
    if (saving.now === 'failed') parts.push(WORDS.notSaved);
    if (pinned) parts.push(isInMemory(state) ? WORDS.pinned : WORDS.pinnedAway);
    return parts;
}

/**
 * The residency of a state in one line, for screen readers. Example: "On disk, 1.2 MB; 2 variables
 * could not be saved".
 * @param {State} state
 * @param {Progress} [progress] of the state's replay
 * @param {boolean} [isUnsaved] whether the server could not write the state to disk yet
 */
export function residencyText(state, progress, isUnsaved = false) {
    const { saving, pinned, checkpoint, living } = state;
    if (living === 'deleted') return '';
    const size = living === 'disk' ? checkpoint && bytes(checkpoint.compressed_size_bytes) : memoryOf(state);
    const lives = [WORDS.lives[living], size].filter(Boolean).join(', ');
    const [missing, changed] = [missingOf(state).length, changedOf(state).length];
    return [
        lives,
        progress && WORDS.replaying(progress.done, progress.total),
        saving.now === 'writing' && WORDS.saving(saving.percent),
        saving.now === 'failed' && WORDS.saveFailed(saving.why),
        isUnsaved && WORDS.unsaved,
        missing > 0 &&
            (state.revival?.by === 'checkpoint' ? WORDS.namesGone(missing) : WORDS.unsavable(missing)),
        changed > 0 && WORDS.changedShort(changed),
        isForeign(state) && WORDS.foreignShort,
        pinned && (isInMemory(state) ? WORDS.pinned : WORDS.pinnedAway),
    ]
        .filter(Boolean)
        .join('; ');
}

/**
 * Describes a partial state and names the line at which its cell failed.
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
 * What happens before a cell can run on a state; empty if it starts at once.
 * @param {Model} model
 * @param {string} id
 */
export function beforeRunText(model, id) {
    const state = model.states.get(id);
    if (state?.living === 'replay') return WORDS.replaysFirst(cellsToReplay(model, id).length);
    if (state?.living !== 'disk') return '';
    const seconds = Math.round((state.checkpoint?.namespace_size_bytes ?? 0) / RESTORED_PER_SECOND);
    return WORDS.restoresFirst(
        seconds,
        missingOf(state).map(({ name }) => name),
    );
}

/**
 * The cells that a replay of a state runs, in order. The replay starts at the nearest ancestor
 * that `isWhole` accepts. Empty if the state is complete in memory.
 * @param {Model} model
 * @param {string} id
 * @returns {State[]}
 */
export function cellsToReplay(model, id) {
    const line = model.lineage(id);
    const target = line.at(-1);
    if (!target || target.parent === null || isWholeInMemory(target)) return [];
    const start = line
        .slice(0, -1)
        .findLastIndex((state) => state.parent === null || isWhole(state, model.python));
    return line.slice(start + 1);
}

/**
 * Whether a replay can start from a state. Same rule as in src/session/machine/replay.rs.
 * @param {State} state
 * @param {import('../shell/protocol.js').Python | null} python the notebook's
 */
const isWhole = (state, python) =>
    (isWholeInMemory(state) && (state.forks || isWholeOnDisk(state, python))) ||
    (state.living === 'disk' && isWholeOnDisk(state, python));

/** @param {State} state */
const isWholeInMemory = (state) => isInMemory(state) && !lacksNames(state);

/** @param {State} state @param {import('../shell/protocol.js').Python | null} python */
const isWholeOnDisk = ({ checkpoint }, python) =>
    otherSeries(checkpoint, python) === null &&
    checkpoint?.is_trusted &&
    checkpoint.form === 'environment' &&
    checkpoint.missing.length === 0;
