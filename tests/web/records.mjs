// Records as the server sends them.

/** @typedef {import('../../web/shell/protocol.js').State} State */
/** @typedef {import('../../web/shell/protocol.js').Run} Run */
/** @typedef {import('../../web/shell/protocol.js').Snapshot} Snapshot */

/**
 * A state in memory.
 * @param {string} id
 * @param {string | null} parent
 * @param {Partial<State>} [more]
 * @returns {State}
 */
export const state = (id, parent, more = {}) => ({
    id,
    name: id,
    parent,
    exec_id: parent && `run-${id}`,
    exec_count: 0,
    created_at: 0,
    label: null,
    prose: [],
    warnings: [],
    forks: true,
    pinned: false,
    living: 'memory',
    checkpoint: null,
    saving: { now: 'idle' },
    revival: null,
    memory_bytes: null,
    shared_bytes: null,
    changes: null,
    ...more,
});

export const root = state('initial', null);

/**
 * A run that succeeded.
 * @param {string} id
 * @param {string} on the state it ran against
 * @param {Partial<Run>} [more]
 * @returns {Run}
 */
export const run = (id, on, more = {}) => ({
    exec_id: id,
    on: { state: on },
    code: `code of ${id}`,
    status: 'ok',
    draft: null,
    outputs: [],
    error: null,
    prompt: null,
    started_at: 1,
    duration_ms: 1,
    state: null,
    asked: { on: { state: on }, new_state_name: null },
    ...more,
});

/**
 * The Python of a notebook.
 * @param {Partial<import('../../web/shell/protocol.js').Python>} [more]
 * @returns {import('../../web/shell/protocol.js').Python}
 */
export const python = (more = {}) => ({
    path: '/usr/bin/python3',
    version: '3.12.1',
    is_chosen: false,
    problem: null,
    ...more,
});

/** @param {Partial<Snapshot>} [more] @returns {Snapshot} */
export const snapshot = (more = {}) => ({
    name: 'main',
    states: [root],
    runs: [],
    drafts: [],
    python: python(),
    trouble: null,
    people: [],
    ...more,
});

/**
 * The last checkpoint of a state.
 * @param {Partial<import('../../web/shell/protocol.js').Checkpoint>} [more]
 * @returns {import('../../web/shell/protocol.js').Checkpoint}
 */
export const checkpoint = (more = {}) => ({
    checkpoint_id: 'c',
    session_id: 'n',
    state_id: 'initial',
    form: 'environment',
    created_at: 0,
    label: null,
    metadata: {},
    namespace_size_bytes: 0,
    compressed_size_bytes: 0,
    new_bytes: 0,
    compression_ratio: 1,
    entry_count: 0,
    includes_source: false,
    parent_checkpoint: null,
    execution_count: 0,
    total_execution_time_ms: 0,
    missing: [],
    changed: [],
    not_compared: null,
    python: '3.12',
    is_trusted: true,
    ...more,
});

/** @typedef {import('../../web/shell/protocol.js').Variable} Variable */

/**
 * @param {string} name
 * @param {string} type
 * @param {string} repr
 * @param {Partial<Variable>} [more]
 * @returns {Variable}
 */
export const variable = (name, type, repr, more = {}) => ({
    name,
    type,
    repr,
    size: null,
    bytes: null,
    fingerprint: null,
    sampled: false,
    summary: null,
    ...more,
});

/**
 * A refusal.
 * @param {import('../../web/shell/protocol-types.d.ts').Kind} code
 * @param {string[]} texts
 */
export const refusal = (code, [what, why, how] = ['', '', '']) =>
    /** @type {const} */ ({ kind: 'refused', code, what, why, how });
