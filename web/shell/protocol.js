// @ts-check
// All messages of the WebSocket, as types and tables.
//
// The types come from protocol-types.d.ts, which is generated from the server's types; a test
// compares the tables with src/notebook/. This module has no behaviour: socket.js carries messages,
// model.js applies them.

/** @typedef {import('./protocol-types').Base} Base */
/** @typedef {import('./protocol-types').Residency} Living */
/** @typedef {import('./protocol-types').RunStatus} RunStatus */
/** @typedef {import('./protocol-types').RunError} RunError */
/** @typedef {import('./protocol-types').Prompt} Prompt */
/** @typedef {import('./protocol-types').Missing} Missing */
/** @typedef {import('./protocol-types').Saving} Saving */
/** @typedef {import('./protocol-types').RestoredFrom} Revival */
/** @typedef {import('./protocol-types').DiskStatus} Trouble */
/** @typedef {import('./protocol-types').OffsiteStatus} OffsiteStatus */
/** @typedef {import('./protocol-types').Python} Python */
/** @typedef {import('./protocol-types').Checkpoint} Checkpoint */
/** @typedef {import('./protocol-types').State} State */
/** @typedef {import('./protocol-types').Changes} Changes */
/** @typedef {import('./protocol-types').Participant} Person */
/** @typedef {import('./protocol-types').Output} Output */
/** @typedef {import('./protocol-types').Run} Run */
/** @typedef {import('./protocol-types').DraftInput} Draft A new draft has no version yet. */
/** @typedef {import('./protocol-types').Snapshot} Snapshot */
/** @typedef {import('./protocol-types').TextUpdate} TextUpdate */
/**
 * @typedef {Omit<import('./protocol-types').PlacedDraft, 'draft'> & {draft: Draft}} PlacedDraft
 */
/** @typedef {import('./protocol-types').Caret} Caret */
/**
 * @typedef {Omit<import('./protocol-types').Variable, 'summary'> & {summary?: Summary | null}}
 *   Variable
 */
/** @typedef {import('./protocol-types').Completion} Completion */
/** @typedef {import('./protocol-types').Signature} Signature */
/** @typedef {import('./protocol-types').Inspection} Inspection */
/** @typedef {import('./protocol-types').Evaluated} Evaluated */
/** @typedef {import('./protocol-types').Event} Event */
/** @typedef {import('./protocol-types').Command} Command */
/**
 * @typedef {Exclude<import('./protocol-types').Reply, {kind: 'variables'}>
 *   | {kind: 'variables', variables: Variable[]}} Reply
 */
/** @typedef {Record<string, unknown>} MimeBundle Representations of one object by mime type. */
/** @typedef {'owner' | 'run' | 'view'} Scope What this browser may do. */
/**
 * @typedef {{write: string[] | null, network: boolean}} Sandbox What cells may do, if that is
 *   restricted. `write`: the directories below which they may write; null: everywhere.
 */
/**
 * @typedef {{min?: number | string | null, max?: number | string | null, mean?: number | null,
 *   nulls?: number}} Stats
 */
/**
 * @typedef {({kind: 'array', shape: number[], dtype: string} & Stats)
 *   | {kind: 'frame', rows: number, columns: Column[], more: number}} Summary The content of a
 *     variable's `summary`.
 */
/**
 * @typedef {{name: string, dtype: string, fingerprint: string | null, sampled?: boolean} & Stats}
 *   Column
 */

/** The id of the root: the state in which no cell has run. */
export const ROOT_STATE = 'initial';

/**
 * All events, and what they change in the graph: its shape, only the marks of its nodes, or nothing
 * (null).
 */
export const EVENTS = Object.freeze({
    run_added: { graph: 'shape' },
    run_started: { graph: 'shape' },
    output_added: { graph: null },
    outputs_cleared: { graph: null },
    display_updated: { graph: null },
    prompt_changed: { graph: null },
    widgets_changed: { graph: null },
    run_warned: { graph: null },
    run_ended: { graph: 'shape' },
    keepable_changed: { graph: null },
    state_added: { graph: 'shape' },
    state_changed: { graph: 'marks' },
    removed: { graph: 'shape' },
    restored: { graph: 'shape' },
    drafts_changed: { graph: null },
    saving_changed: { graph: 'marks' },
    memory_measured: { graph: 'marks' },
    replaying: { graph: 'marks' },
    state_saved: { graph: 'marks' },
    trouble_changed: { graph: 'marks' },
    offsite_changed: { graph: 'marks' },
    python_changed: { graph: 'marks' },
    changes_found: { graph: 'marks' },
    people_changed: { graph: 'marks' },
    task_saved: { graph: null },
    sweep_added: { graph: 'shape' },
    sweep_rows_added: { graph: 'marks' },
    sweep_row_ended: { graph: 'marks' },
    sweep_ended: { graph: 'marks' },
    sweep_removed: { graph: 'shape' },
    reset: { graph: 'shape' },
});

/**
 * All commands. `again`: whether the page may send them again if the connection breaks before the
 * reply. A run may be repeated, because the server knows its `exec_id`. A reset may not, because a
 * cell may have been added in between. A replay may not, because code runs again only on request.
 * `saves`: the reply means that a change is on disk. `based`: it names a version of a text. After a
 * restart of the server, that version may be lost and its number may belong to another text.
 */
/** @type {Readonly<Record<Command['do'], {again: boolean, saves?: boolean, based?: boolean}>>} */
export const COMMANDS = Object.freeze({
    run: { again: true },
    interrupt: { again: false },
    keep_partial: { again: true },
    answer_input: { again: false },
    widget: { again: false },
    put_draft: { again: true, saves: true, based: true },
    delete_draft: { again: true, saves: true },
    put_prose: { again: true, saves: true },
    label: { again: true, saves: true },
    delete_state: { again: true, saves: true },
    delete_branches: { again: true, saves: true },
    drop_attempt: { again: true, saves: true },
    restore: { again: true, saves: true },
    empty_trash: { again: true, saves: true },
    reset: { again: false, saves: true },
    pin: { again: true, saves: true },
    fork_anyway: { again: true, saves: true },
    checkpoint: { again: true },
    replay: { again: false },
    trust: { again: true },
    take_over: { again: false },
    save_task: { again: false },
    look_at_variables: { again: true },
    digest: { again: true },
    complete: { again: false },
    inspect: { again: false },
    check: { again: false },
    merge: { again: true },
    // Without an id, a repeated request would start a second sweep: the page sends one.
    sweep: { again: true },
    stop_sweep: { again: true, saves: true },
    collapse: { again: false, saves: true },
    delete_sweep: { again: false, saves: true },
    find_parameters: { again: true },
    evaluate: { again: false },
    table: { again: true },
    value_part: { again: true },
    stand: { again: true },
});

/** The kinds of replies. */
export const REPLIES = Object.freeze([
    'done',
    'ended',
    'checkpointed',
    'task_saved',
    'trusted',
    'interrupted',
    'variables',
    'digested',
    'merge_planned',
    'sweep_started',
    'collapsed',
    'parameters',
    'completions',
    'inspected',
    'checked',
    'evaluated',
    'table',
    'value_part',
    'handled',
    'standing',
    'refused',
]);

/** The close codes of the WebSocket to which the page reacts differently. */
export const CLOSED = Object.freeze({ accessEnded: 4401, tooSlow: 4408, renamed: 4301, deleted: 4404 });

/** Whether a run is over. @param {RunStatus} status */
export const hasEnded = (status) => status !== 'queued' && status !== 'running';

/** Whether a run can start from a state. @param {Living} living */
export const canRun = (living) => living === 'freezing' || living === 'memory' || living === 'disk';
