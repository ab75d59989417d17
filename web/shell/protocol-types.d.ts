// The messages between the page and the server. Generated from the types in src/notebook/, whose
// comments say what each field means.
// To regenerate: cargo test --lib protocol_types::write -- --ignored

export type Asked = { on: Base; new_state_name: string | null };
export type Base = { state: StateId } | { run: ExecId };
export type Caret = { draft: DraftId; version: number; anchor: number; head: number };
export type Changes = { added: string[]; changed: string[]; removed: string[]; more: number };
export type Checkpoint = {
    checkpoint_id: string;
    session_id: string;
    state_id: StateId;
    form: Form;
    created_at: number;
    label: string | null;
    metadata: Record<string, unknown>;
    namespace_size_bytes: number;
    compressed_size_bytes: number;
    new_bytes: number;
    compression_ratio: number;
    entry_count: number;
    includes_source: boolean;
    parent_checkpoint: string | null;
    execution_count: number;
    total_execution_time_ms: number;
    missing: Missing[];
    is_trusted: boolean;
};
export type Command =
    | {
        do: 'run';
        exec_id: ExecId;
        code: string;
        on: Base;
        new_state_name?: string | null;
        draft?: DraftId | null;
        instead_of?: LineageRange | null;
        timeout?: number | null;
        run_memory?: number | null;
        allow_stdin?: boolean;
        replay?: boolean;
        on_error?: OnError;
    }
    | { do: 'interrupt'; exec_id: ExecId }
    | { do: 'keep_partial'; exec_id: ExecId }
    | { do: 'answer_input'; exec_id: ExecId; text: string }
    | {
        do: 'put_draft';
        draft: DraftInput;
        after?: DraftId | null;
        in_place?: boolean;
        base?: number | null;
        update?: TextUpdateInput | null;
    }
    | { do: 'delete_draft'; draft: DraftId }
    | { do: 'put_prose'; state: StateId; prose: string[] }
    | { do: 'label'; state: StateRef; label?: string | null }
    | { do: 'delete_state'; state: StateRef; subtree?: boolean }
    | { do: 'drop_attempt'; exec_id: ExecId }
    | { do: 'reset' }
    | { do: 'pin'; state: StateRef; pinned: boolean }
    | { do: 'fork_anyway'; state: StateRef; anyway: boolean }
    | {
        do: 'checkpoint';
        state: StateRef;
        form?: Form;
        label?: string | null;
        metadata?: Record<string, unknown>;
    }
    | { do: 'replay'; state: StateRef }
    | { do: 'trust' }
    | {
        do: 'save_task';
        task_id: string;
        state?: StateId | null;
        values?: Record<string, unknown>;
        token_usage?: Record<string, unknown>;
        metadata?: Record<string, unknown>;
    }
    | { do: 'look_at_variables'; state: StateRef }
    | { do: 'digest'; state: StateRef }
    | { do: 'complete'; state: StateId; code: string; cursor: number }
    | { do: 'inspect'; state: StateId; code: string; cursor: number }
    | {
        do: 'stand';
        state: StateId;
        name?: string | null;
        caret?: Caret | null;
    };
export type Completion = { text: string; kind: string; signature: string | null };
export type Digests = {
    hashes: Record<string, string | null>;
    groups: string[][];
    fingerprints: (string | null)[];
};
export type DiskStatus = { what: string; why: string; how: string };
export type Draft = {
    id: DraftId;
    on: StateId;
    before?: StateId | null;
    kind: DraftKind;
    source: string;
    version: number;
    received?: ReceivedUpdate[];
};
export type DraftId = string;
export type DraftInput = {
    id: DraftId;
    on: StateId;
    before?: StateId | null;
    kind: DraftKind;
    source: string;
    version?: number;
    received?: ReceivedUpdate[];
};
export type DraftKind = 'code' | 'markdown';
export type Ended = {
    exec_id: ExecId;
    status: RunStatus;
    state: StateId | null;
    state_name: string | null;
    error: RunError | null;
    warnings?: string[];
    keepable?: boolean;
};
export type Event = Fact | Live;
export type ExecId = string;
export type Fact =
    | { event: 'run_added'; run: Run }
    | {
        event: 'run_started';
        exec_id: ExecId;
        on: Base;
        started_at: number;
    }
    | { event: 'output_added'; exec_id: ExecId; output: Output }
    | { event: 'outputs_cleared'; exec_id: ExecId; wait: boolean }
    | {
        event: 'display_updated';
        exec_id: ExecId;
        display_id: string;
        data: Record<string, unknown>;
        metadata: Record<string, unknown>;
    }
    | { event: 'run_warned'; exec_id: ExecId; warning: string }
    | {
        event: 'run_ended';
        exec_id: ExecId;
        status: RunStatus;
        error: RunError | null;
        duration_ms: number | null;
        state: StateId | null;
    }
    | { event: 'state_added'; state: State }
    | { event: 'state_changed'; state: State }
    | { event: 'removed'; states: StateId[]; runs: ExecId[] }
    | {
        event: 'drafts_changed';
        on: StateId;
        removed: DraftId[];
        put: PlacedDraft[];
    }
    | { event: 'changes_found'; state: StateId; changes: Changes }
    | { event: 'task_saved'; checkpoint: TaskCheckpoint }
    | { event: 'reset'; notebook: Snapshot };
export type Form = 'environment' | 'data';
export type Inspection = {
    name: string;
    type: string;
    repr: string | null;
    signature: Signature | null;
    doc: string | null;
    place: string | null;
};
export type Kind =
    | 'bad_request'
    | 'unauthorized'
    | 'forbidden'
    | 'foreign_origin'
    | 'no_cors'
    | 'not_found'
    | 'checkpoint_error'
    | 'method_not_allowed'
    | 'too_slow'
    | 'conflict'
    | 'lost'
    | 'too_large'
    | 'unsupported_media_type'
    | 'misdirected'
    | 'too_many_failures'
    | 'internal'
    | 'busy'
    | 'kernel'
    | 'closed'
    | 'timeout'
    | 'disk';
export type LineageRange = { state: StateId; tip: StateId };
export type Live =
    | { event: 'prompt_changed'; exec_id: ExecId; prompt: Prompt | null }
    | { event: 'keepable_changed'; exec_id: ExecId; keepable: boolean }
    | { event: 'saving_changed'; state: StateId; saving: Saving }
    | { event: 'memory_measured'; state: StateId; memory_bytes: number }
    | { event: 'replaying'; state: StateId; done: number; total: number }
    | { event: 'state_saved'; state: StateId }
    | { event: 'trouble_changed'; trouble: DiskStatus | null }
    | { event: 'people_changed'; people: Participant[] };
export type Missing = { name: string; type: string; reason: string };
export type OnError = 'discard' | 'keep';
export type Output =
    | { output_type: 'stream'; name: StreamName; text: string }
    | {
        output_type: 'display_data';
        data: Record<string, unknown>;
        metadata: Record<string, unknown>;
        display_id?: string | null;
    }
    | {
        output_type: 'execute_result';
        data: Record<string, unknown>;
        metadata: Record<string, unknown>;
        execution_count: number;
    }
    | RunError & { output_type: 'error' };
export type Participant = {
    id: string;
    name: string | null;
    scope: string;
    state: StateId;
    caret?: Caret | null;
};
export type PlacedDraft = { draft: Draft; after: DraftId | null; update?: TextUpdate | null };
export type Problem = { code: Kind; what: string; why: string; how: string };
export type Prompt = { number: number; text: string; password: boolean };
export type ReceivedUpdate = { client: string; number: number };
export type Reply =
    | { kind: 'done' }
    | Ended & { kind: 'ended' }
    | { kind: 'checkpointed'; checkpoint: Checkpoint }
    | { kind: 'task_saved'; checkpoint: TaskCheckpoint }
    | { kind: 'trusted'; count: number }
    | { kind: 'interrupted'; interrupted: boolean }
    | { kind: 'variables'; variables: Variable[] }
    | { kind: 'digested'; digests: Digests }
    | {
        kind: 'completions';
        from: number;
        to: number;
        items: Completion[];
    }
    | { kind: 'inspected'; object: Inspection | null }
    | { kind: 'standing'; id: string }
    | Problem & { kind: 'refused' };
export type Residency = 'freezing' | 'memory' | 'disk' | 'replay' | 'deleted';
export type RestoredFrom = { by: 'checkpoint'; missing: Missing[] } | { by: 'replay' };
export type Run = {
    exec_id: ExecId;
    on: Base;
    code: string;
    status: RunStatus;
    draft: DraftId | null;
    exec_count?: number | null;
    outputs: Output[];
    error: RunError | null;
    warnings?: string[];
    keepable?: boolean;
    prompt: Prompt | null;
    started_at: number | null;
    duration_ms: number | null;
    state: StateId | null;
    asked: Asked;
};
export type RunError = { ename: string; evalue: string; traceback: string[] };
export type RunStatus =
    | 'queued'
    | 'running'
    | 'ok'
    | 'error'
    | 'interrupted'
    | 'crashed'
    | 'imported';
export type Saving =
    | { now: 'idle' }
    | { now: 'done' }
    | { now: 'waiting' }
    | { now: 'never'; why: string }
    | { now: 'writing'; percent: number }
    | { now: 'failed'; why: string };
export type Signature = { parameters: string[]; returns: string | null; active: number | null };
export type Snapshot = {
    name: string;
    states: State[];
    runs: Run[];
    drafts: Draft[];
    trouble: DiskStatus | null;
    people: Participant[];
};
export type State = {
    id: StateId;
    name: string;
    parent: StateId | null;
    exec_id: ExecId | null;
    exec_count: number;
    created_at: number;
    label: string | null;
    prose: string[];
    warnings: string[];
    forks: boolean;
    fork_anyway?: boolean;
    pinned: boolean;
    living: Residency;
    checkpoint: Checkpoint | null;
    saving: Saving;
    revival: RestoredFrom | null;
    memory_bytes: number | null;
    changes: Changes | null;
    partial?: boolean;
};
export type StateId = string;
export type StateRef = string;
export type StreamName = 'stdout' | 'stderr';
export type TaskCheckpoint = {
    task_id: string;
    version: number;
    state: StateId | null;
    values: Record<string, unknown>;
    token_usage: Record<string, unknown>;
    metadata: Record<string, unknown>;
    created_at: number;
};
export type TextUpdate = { client: string; number: number; changes: unknown[] };
export type TextUpdateInput = { client: string; number?: number; changes: unknown[] };
export type Variable = {
    name: string;
    type: string;
    repr: string;
    size: string | null;
    bytes: number | null;
    fingerprint: string | null;
    sampled: boolean;
    summary: Record<string, unknown> | null;
};
