// @ts-check
// All messages of the WebSocket, as types and tables.
//
// The server's side is src/notebook/{command,event,record,output}.rs; a test compares both. Nothing
// here acts: socket.js carries messages, model.js applies them.

/** @typedef {{state: string} | {run: string}} Base What a run is run against. */
/**
 * @typedef {'freezing' | 'memory' | 'disk' | 'replay' | 'deleted'} Living Where a state can be run
 *   from.
 */
/**
 * @typedef {'queued' | 'running' | 'ok' | 'error' | 'interrupted' | 'crashed' | 'imported'}
 *   RunStatus `imported`: its outputs came in a file
 */
/** @typedef {{ename: string, evalue: string, traceback: string[]}} RunError */
/** @typedef {{text: string, password: boolean}} Prompt */
/** @typedef {Record<string, unknown>} MimeBundle Representations of one object by mime type. */
/** @typedef {'owner' | 'run' | 'view'} Scope What this browser may do. */
/**
 * @typedef {{name: string, type: string, reason: string}} Missing A name that a checkpoint could
 *   not hold.
 */
/**
 * @typedef {{now: 'idle'} | {now: 'waiting'} | {now: 'writing', percent: number} | {now: 'failed',
 *   why: string}} Saving
 */
/**
 * @typedef {{by: 'checkpoint', missing: Missing[]} | {by: 'replay'}} Revival How a process came to
 *   be, if not by running its cell.
 */
/**
 * @typedef {{what: string, why: string, how: string}} Trouble Why what happens cannot be written to
 *   disk now.
 */

/**
 * @typedef {object} Checkpoint A state's durable form; what of it the page shows.
 * @property {string} checkpoint_id
 * @property {'environment' | 'data'} form
 * @property {number} compressed_size_bytes how much it is on disk
 * @property {Missing[]} missing what could not be saved
 * @property {boolean} is_trusted whether this install wrote it; else only its values are read
 */

/**
 * @typedef {object} State A node of the graph.
 * @property {string} id
 * @property {string} name
 * @property {string | null} parent
 * @property {string | null} exec_id
 * @property {number} exec_count
 * @property {number} created_at milliseconds since the Unix epoch
 * @property {string | null} label
 * @property {string[]} prose markdown that stands before its code
 * @property {string[]} warnings what of it does not survive a branch
 * @property {boolean} forks whether a process of it may be forked; else branches come from its
 *   checkpoint
 * @property {boolean} [fork_anyway] whether it is forked all the same, as somebody has decided
 * @property {boolean} pinned
 * @property {Living} living
 * @property {Checkpoint | null} checkpoint
 * @property {Saving} saving
 * @property {Revival | null} revival
 * @property {number | null} memory_bytes what its process holds for itself alone
 * @property {Changes | null} changes what its cell did to the variables; null while that is not
 *   known
 * @property {true} [partial] its cell failed: it holds what the cell had set until then
 */

/**
 * @typedef {{added: string[], changed: string[], removed: string[], more: number}} Changes Names,
 *   sorted; `more` are not named.
 */
/**
 * @typedef {{id: string, name: string | null, scope: Scope, state: string,
 *   caret?: Caret | null}} Person Somebody who looks at the notebook: one tab.
 */

/**
 * @typedef {{output_type: 'stream', name: 'stdout' | 'stderr', text: string} | {output_type:
 *   'display_data', data: MimeBundle, metadata: MimeBundle, display_id?: string} | {output_type:
 *   'execute_result', data: MimeBundle, metadata: MimeBundle, execution_count: number} |
 *   ({output_type: 'error'} & RunError)} Output
 */

/**
 * @typedef {object} Run One execution of a cell.
 * @property {string} exec_id
 * @property {Base} on
 * @property {string} code
 * @property {RunStatus} status
 * @property {string | null} draft
 * @property {Output[]} outputs
 * @property {RunError | null} error
 * @property {string[]} [warnings] what was seen of it that its user should know
 * @property {boolean} [keepable] what it had set until it failed can still be kept
 * @property {Prompt | null} prompt
 * @property {number | null} started_at milliseconds since the Unix epoch
 * @property {number | null} duration_ms
 * @property {string | null} state
 */

/**
 * @typedef {{id: string, on: string, before?: string | null, kind: 'code' | 'markdown', source:
 *   string, version?: number}} Draft It stands above the cell of the child `before` of its state;
 *   without one, at the end of the line to its state. The server counts its versions.
 */
/**
 * @typedef {{name: string, states: State[], runs: Run[], drafts: Draft[], trouble: Trouble | null,
 *   people: Person[]}} Snapshot
 */
/**
 * @typedef {{client: string, changes: unknown[]}} TextUpdate How a text grew: the client that says
 *   so, and a ChangeSet of CodeMirror as JSON.
 */
/** @typedef {{draft: Draft, after: string | null, update?: TextUpdate | null}} PlacedDraft */
/**
 * @typedef {{draft: string, version: number, anchor: number, head: number}} Caret Offsets in the
 *   text of a version of a draft.
 */
/**
 * @typedef {object} Variable
 * @property {string} name
 * @property {string} type
 * @property {string} repr
 * @property {string | null} [size] shape or length
 * @property {number | null} [bytes] memory, as far as it is known cheaply
 * @property {string | null} [fingerprint] equal fingerprints, equal values
 * @property {boolean} [sampled] whether the fingerprint is of samples only: then equal ones promise
 *   nothing
 * @property {Summary | null} [summary] of arrays, series and frames
 */
/**
 * @typedef {{min?: number | string | null, max?: number | string | null, mean?: number | null,
 *   nulls?: number}} Stats
 */
/**
 * @typedef {({kind: 'array', shape: number[], dtype: string} & Stats) | {kind: 'frame', rows:
 *   number, columns: Column[], more: number}} Summary
 */
/**
 * @typedef {{name: string, dtype: string, fingerprint: string | null, sampled?: boolean} & Stats}
 *   Column
 */
/** @typedef {{text: string, kind: string, signature: string | null}} Completion */
/** @typedef {{parameters: string[], returns: string | null, active: number | null}} Signature */
/**
 * @typedef {{name: string, type: string, repr: string | null, signature: Signature | null, doc:
 *   string | null, place: string | null}} Inspection
 */

/**
 * @typedef {{event: 'run_added', run: Run} | {event: 'run_started', exec_id: string, on: Base,
 *   started_at: number} | {event: 'output_added', exec_id: string, output: Output} | {event:
 *   'outputs_cleared', exec_id: string, wait: boolean} | {event: 'display_updated', exec_id:
 *   string, display_id: string, data: MimeBundle, metadata: MimeBundle} | {event: 'prompt_changed',
 *   exec_id: string, prompt: Prompt | null} | {event: 'run_warned', exec_id: string, warning:
 *   string} | {event: 'run_ended', exec_id: string, status: RunStatus, error: RunError | null,
 *   duration_ms: number | null, state: string | null} | {event: 'keepable_changed', exec_id:
 *   string, keepable: boolean} | {event: 'state_added', state: State} | {event: 'state_changed',
 *   state: State} | {event: 'removed', states: string[], runs: string[]} | {event:
 *   'drafts_changed', on: string, removed: string[], put: PlacedDraft[]} |
 *   {event: 'saving_changed', state: string, saving: Saving} | {event: 'memory_measured', state:
 *   string, memory_bytes: number} | {event: 'replaying', state: string, done: number, total:
 *   number} | {event: 'memory_measured', state: string, memory_bytes: number} | {event:
 *   'state_saved', state: string} | {event: 'trouble_changed', trouble: Trouble | null} | {event:
 *   'changes_found', state: string, changes: Changes} | {event: 'people_changed', people: Person[]}
 *   | {event: 'task_saved', checkpoint: object} | {event: 'reset', notebook: Snapshot}} Event
 */

/**
 * @typedef {{do: 'run', exec_id: string, code: string, on: Base, draft?: string, instead_of?:
 *   {state: string, tip: string}, replay?: boolean, on_error?: 'discard' | 'keep'} | {do:
 *   'keep_partial', exec_id: string} | {do: 'interrupt', exec_id: string} | {do: 'answer_input',
 *   exec_id: string, text: string} | {do: 'put_draft', draft: Draft, after?: string | null,
 *   in_place?: boolean, base?: number, update?: TextUpdate} | {do: 'delete_draft', draft: string} | {do: 'put_prose',
 *   state: string, prose: string[]} | {do: 'label', state: string, label: string | null} | {do:
 *   'delete_state', state: string, subtree?: boolean} | {do: 'drop_attempt', exec_id: string} |
 *   {do: 'reset'} | {do: 'pin', state: string, pinned: boolean} | {do: 'fork_anyway', state:
 *   string, anyway: boolean} | {do: 'checkpoint', state: string} | {do: 'replay', state: string} |
 *   {do: 'trust'} | {do: 'save_task', task_id: string} | {do: 'look_at_variables', state: string} |
 *   {do: 'digest', state: string} | {do: 'complete', state: string, code: string, cursor: number} |
 *   {do: 'inspect', state: string, code: string, cursor: number} | {do: 'stand', state: string,
 *   name?: string | null, caret?: Caret | null}} Command Cursors count Unicode code points.
 */

/**
 * @typedef {{kind: 'done'} | {kind: 'ended', exec_id: string, status: RunStatus, state: string |
 *   null, state_name: string | null, error: RunError | null, keepable?: boolean} | {kind:
 *   'checkpointed', checkpoint: Checkpoint} | {kind: 'task_saved', checkpoint: object} | {kind:
 *   'trusted', count: number} | {kind: 'interrupted', interrupted: boolean} | {kind: 'variables',
 *   variables: Variable[]} | {kind: 'digested', digests: object} | {kind: 'completions', from:
 *   number, to: number, items: Completion[]} | {kind: 'inspected', object: Inspection | null} |
 *   {kind: 'standing', id: string} | {kind: 'refused', code: string, what: string, why: string,
 *   how: string}} Reply
 */

/** The id of the state from which every notebook grows. */
export const ROOT_STATE = 'initial';

/**
 * Every event, and what it changes in the graph: its shape, only the marks of nodes, or nothing.
 */
export const EVENTS = Object.freeze({
    run_added: { graph: 'shape' },
    run_started: { graph: 'shape' },
    output_added: { graph: null },
    outputs_cleared: { graph: null },
    display_updated: { graph: null },
    prompt_changed: { graph: null },
    run_warned: { graph: null },
    run_ended: { graph: 'shape' },
    keepable_changed: { graph: null },
    state_added: { graph: 'shape' },
    state_changed: { graph: 'marks' },
    removed: { graph: 'shape' },
    drafts_changed: { graph: null },
    saving_changed: { graph: 'marks' },
    memory_measured: { graph: 'marks' },
    replaying: { graph: 'marks' },
    state_saved: { graph: 'marks' },
    trouble_changed: { graph: 'marks' },
    changes_found: { graph: 'marks' },
    people_changed: { graph: 'marks' },
    task_saved: { graph: null },
    reset: { graph: 'shape' },
});

/**
 * Every command, and whether it may be sent again after the connection broke before its reply. A
 * run may, because the server knows its `exec_id`. A reset may not, because something may have been
 * added in between; nor a replay, because code never runs again unasked.
 */
export const COMMANDS = Object.freeze({
    run: { again: true },
    interrupt: { again: false },
    keep_partial: { again: true },
    answer_input: { again: false },
    put_draft: { again: true },
    delete_draft: { again: true },
    put_prose: { again: true },
    label: { again: true },
    delete_state: { again: true },
    drop_attempt: { again: true },
    reset: { again: false },
    pin: { again: true },
    fork_anyway: { again: true },
    checkpoint: { again: true },
    replay: { again: false },
    trust: { again: true },
    save_task: { again: false },
    look_at_variables: { again: true },
    digest: { again: true },
    complete: { again: false },
    inspect: { again: false },
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
    'completions',
    'inspected',
    'standing',
    'refused',
]);

/** Why the server closed the socket, where the page must distinguish. */
export const CLOSED = Object.freeze({ accessEnded: 4401, tooSlow: 4408, renamed: 4301, deleted: 4404 });

/** Whether a run is over. @param {RunStatus} status */
export const hasEnded = (status) => status !== 'queued' && status !== 'running';

/** Whether a run can start from a state. @param {Living} living */
export const canRun = (living) => living === 'freezing' || living === 'memory' || living === 'disk';
