// The messages between the page and the server. Generated from the types in src/notebook/, whose
// comments say what each field means.
// To regenerate: cargo test --lib protocol_types::write -- --ignored

export type AgentStatus = { stopped: boolean };
export type Asked = { on: Base; new_state_name: string | null };
export type Base = { state: StateId } | { run: ExecId };
export type Caret = { draft: DraftId; version: number; anchor: number; head: number };
export type Cause =
    | 'interrupt'
    | 'kernel_died'
    | 'state_not_found'
    | 'state_lost'
    | 'run_aborted'
    | 'run_timeout'
    | 'run_out_of_memory'
    | 'state_not_kept'
    | 'fork_failed'
    | 'fork_refused'
    | 'restore_failed'
    | 'replay_failed'
    | 'worker_failed'
    | 'worker_refused';
export type Changed = 'changed';
export type ChangedOnLoad = { name: string; type: string; what: string };
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
    changed: ChangedOnLoad[];
    not_compared: string | null;
    python: string | null;
    is_trusted: boolean;
};
export type CodeParameters = {
    parameters: Parameter[];
    reads: string[];
    obstacles: Record<string, string>;
    syntax_error: string | null;
    values: (string | null)[];
    metric: string | null;
    sampler: string | null;
};
export type CodeRange = { from: number; to: number };
export type ColumnKind = 'number' | 'time' | 'bool' | 'text';
export type ColumnSummary =
    | { bars: number[]; low: string; high: string; missing: number }
    | { distinct: number; frequent: FrequentValue[]; missing: number };
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
        variant?: boolean;
        replay?: boolean;
        on_error?: OnError;
        passing?: boolean;
        where?: Place;
        resources?: Resources;
    }
    | { do: 'interrupt'; exec_id: ExecId }
    | { do: 'keep_partial'; exec_id: ExecId }
    | { do: 'answer_input'; exec_id: ExecId; text: string }
    | {
        do: 'widget';
        state: StateId;
        exec_id: ExecId;
        message: WidgetMessage;
    }
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
    | { do: 'delete_branches'; states: StateId[]; attempts?: ExecId[] }
    | { do: 'drop_attempt'; exec_id: ExecId }
    | { do: 'restore'; deleted: string }
    | { do: 'empty_trash' }
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
    | { do: 'take_over' }
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
    | {
        do: 'complete';
        state: StateId;
        code: string;
        cursor: number;
        above?: string;
    }
    | {
        do: 'inspect';
        state: StateId;
        code: string;
        cursor: number;
        above?: string;
    }
    | { do: 'check'; state: StateId; code: string }
    | {
        do: 'merge';
        exec_id: ExecId;
        into: StateRef;
        from: StateRef;
        take: Wanted;
        on_conflict?: OnConflict;
        resolve?: Record<string, OnConflict>;
        new_state_name?: string | null;
        dry_run?: boolean;
    }
    | SweepSpec & { do: 'sweep' }
    | { do: 'stop_sweep'; sweep: SweepId }
    | {
        do: 'collapse';
        sweep: SweepId;
        row?: number | null;
        label?: string | null;
    }
    | { do: 'delete_sweep'; sweep: SweepId }
    | { do: 'find_parameters'; state: StateId; code: string }
    | { do: 'evaluate'; state: StateId; expressions: string[] }
    | { do: 'table'; state: StateId; view: TableView }
    | { do: 'value_part'; state: StateId; view: ValuePartView }
    | {
        do: 'stand';
        state: StateId;
        name?: string | null;
        caret?: Caret | null;
        cell?: string | null;
        follows?: string | null;
    };
export type Completion = { text: string; kind: string; signature: string | null };
export type Condition =
    | 'contains'
    | 'equal'
    | 'unequal'
    | 'less'
    | 'at_most'
    | 'greater'
    | 'at_least'
    | 'missing'
    | 'present';
export type Digests = {
    hashes: Record<string, string | null>;
    groups: string[][];
    fingerprints: (string | null)[];
    reads: Record<string, string[]>;
};
export type DiskStatus = { what: string; why: string; how: string };
export type Draft = {
    id: DraftId;
    on: StateId;
    before?: StateId | null;
    instead_of?: StateId | null;
    kind: DraftKind;
    source: string;
    version: number;
    received?: ReceivedUpdate[];
    imported_cell?: number | null;
    stale_run?: ExecId | null;
};
export type DraftId = string;
export type DraftInput = {
    id: DraftId;
    on: StateId;
    before?: StateId | null;
    instead_of?: StateId | null;
    kind: DraftKind;
    source: string;
    version?: number;
    received?: ReceivedUpdate[];
    imported_cell?: number | null;
    stale_run?: ExecId | null;
};
export type DraftKind = 'code' | 'markdown' | 'raw';
export type Ended = {
    exec_id: ExecId;
    status: RunStatus;
    state: StateId | null;
    state_name: string | null;
    error: RunError | null;
    warnings?: string[];
    keepable?: boolean;
    outputs?: Output[] | null;
};
export type Evaluated = { text: string; number: number | null; failed: boolean };
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
    | {
        event: 'widgets_changed';
        exec_id: ExecId;
        messages: WidgetMessage[];
    }
    | { event: 'run_warned'; exec_id: ExecId; warning: string }
    | {
        event: 'run_ended';
        exec_id: ExecId;
        status: RunStatus;
        error: RunError | null;
        duration_ms: number | null;
        state: StateId | null;
        metric?: Metric | null;
        worker?: RunWorker | null;
    }
    | { event: 'state_added'; state: State }
    | { event: 'state_changed'; state: State }
    | {
        event: 'removed';
        states: StateId[];
        runs: ExecId[];
        deleted_at: number | null;
    }
    | { event: 'restored'; states: State[]; runs: Run[] }
    | {
        event: 'drafts_changed';
        on: StateId;
        removed: DraftId[];
        put: PlacedDraft[];
    }
    | { event: 'changes_found'; state: StateId; changes: Changes }
    | { event: 'python_changed'; python: Python }
    | { event: 'task_saved'; checkpoint: TaskCheckpoint }
    | { event: 'sweep_added'; sweep: Sweep }
    | {
        event: 'sweep_rows_added';
        sweep: SweepId;
        first: number;
        rows: SweepRow[];
    }
    | {
        event: 'sweep_row_ended';
        sweep: SweepId;
        row: number;
        end: RowEnd;
    }
    | {
        event: 'sweep_ended';
        sweep: SweepId;
        status: SweepStatus;
        ended_at: number;
        note: string | null;
    }
    | { event: 'sweep_removed'; sweep: SweepId }
    | { event: 'reset'; notebook: Snapshot };
export type Form = 'environment' | 'data';
export type FrequentValue = { text: string; count: number };
export type Goal = 'max' | 'min';
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
    | 'forbidden'
    | 'not_found'
    | 'conflict'
    | 'lost'
    | 'too_large'
    | 'internal'
    | 'busy'
    | 'kernel'
    | 'closed'
    | 'timeout'
    | 'disk'
    | 'store'
    | 'unauthorized'
    | 'foreign_origin'
    | 'no_cors'
    | 'checkpoint_error'
    | 'method_not_allowed'
    | 'too_slow'
    | 'unsupported_media_type'
    | 'misdirected'
    | 'too_many_failures';
export type LineageRange = { state: StateId; tip: StateId };
export type Live =
    | { event: 'prompt_changed'; exec_id: ExecId; prompt: Prompt | null }
    | { event: 'keepable_changed'; exec_id: ExecId; keepable: boolean }
    | { event: 'saving_changed'; state: StateId; saving: Saving }
    | {
        event: 'memory_measured';
        state: StateId;
        memory_bytes: number;
        shared_bytes: number;
    }
    | { event: 'replaying'; state: StateId; done: number; total: number }
    | { event: 'state_saved'; state: StateId }
    | { event: 'trouble_changed'; trouble: DiskStatus | null }
    | { event: 'offsite_changed'; offsite: OffsiteStatus }
    | { event: 'people_changed'; people: Participant[] };
export type MergePlan = {
    groups: string[][];
    take: TakenName[];
    delete: string[];
    conflicts: string[][];
    incomplete: string[][];
    warnings: string[];
};
export type Metric = { value: number | null; problem?: string | null };
export type Missing = { name: string; type: string; reason: string };
export type NumberRange = { low: number; high: number; log: boolean; int: boolean };
export type NumberRangeInput = { low: number; high: number; log?: boolean; int?: boolean };
export type OffsitePhase = 'pushing' | 'pushed' | 'waiting' | 'held';
export type OffsiteStatus = {
    phase: OffsitePhase;
    at: number | null;
    why: string | null;
    how: string | null;
};
export type OnConflict = 'refuse' | 'ours' | 'theirs' | 'rename';
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
export type Parameter = { name: string; value: string; type: string; from: number; to: number };
export type Participant = {
    id: string;
    number: number;
    name: string | null;
    scope: string;
    state: StateId;
    caret?: Caret | null;
    cell?: string | null;
    follows?: string | null;
    agent?: AgentStatus | null;
};
export type Place = 'here' | 'workers';
export type PlacedDraft = { draft: Draft; after: DraftId | null; update?: TextUpdate | null };
export type Problem = { code: Kind; what: string; why: string; how: string };
export type Prompt = { number: number; text: string; password: boolean };
export type Python = {
    path: string;
    version: string;
    is_chosen: boolean;
    problem: string | null;
};
export type Range = unknown[] | NumberRangeInput;
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
    | { kind: 'merge_planned'; plan: MergePlan; refusal: Problem | null }
    | { kind: 'sweep_started'; id: SweepId; rows: number }
    | {
        kind: 'collapsed';
        kept: StateId;
        deleted: StateId[];
        continued: StateId[];
    }
    | CodeParameters & { kind: 'parameters' }
    | {
        kind: 'completions';
        from: number;
        to: number;
        items: Completion[];
    }
    | { kind: 'inspected'; object: Inspection | null }
    | { kind: 'checked'; error: SyntaxProblem | null }
    | { kind: 'evaluated'; values: Evaluated[] }
    | { kind: 'table'; table: Table }
    | { kind: 'value_part'; part: ValuePart }
    | { kind: 'handled' }
    | { kind: 'standing'; id: string }
    | Problem & { kind: 'refused' };
export type Residency = 'freezing' | 'memory' | 'disk' | 'replay' | 'deleted';
export type Resources = { gpus?: number | null; memory?: string | null };
export type RestoredFrom = { by: 'checkpoint'; missing: Missing[] } | { by: 'replay' };
export type RowEnd = {
    status: RunStatus;
    state: StateId | null;
    metric: number | null;
    error: string | null;
    duration_ms: number | null;
    node?: string | null;
};
export type RowPlace = 'here' | 'workers' | 'both';
export type Run = {
    exec_id: ExecId;
    on: Base;
    code: string;
    status: RunStatus;
    draft: DraftId | null;
    exec_count?: number | null;
    imported_cell?: number | null;
    variant?: boolean;
    outputs: Output[];
    widgets?: Record<string, WidgetModel> | null;
    error: RunError | null;
    warnings?: string[];
    keepable?: boolean;
    prompt: Prompt | null;
    started_at: number | null;
    duration_ms: number | null;
    state: StateId | null;
    metric?: Metric | null;
    worker?: RunWorker | null;
    asked: Asked;
};
export type RunError = {
    ename: string;
    evalue: string;
    traceback: string[];
    cause?: Cause | null;
};
export type RunStatus =
    | 'queued'
    | 'running'
    | 'ok'
    | 'error'
    | 'interrupted'
    | 'crashed'
    | 'imported';
export type RunWorker = { node: string | null; fetched_bytes: number; pushed_bytes: number };
export type Rungs = { code: string; count: number; factor: number };
export type RungsInput = { code: string; count: number; factor?: number };
export type Sampler = {
    kind: SamplerKind;
    space: Record<string, Range>;
    trials: number;
    seed: number;
};
export type SamplerInput = {
    kind: SamplerKind;
    space: Record<string, Range>;
    trials: number;
    seed?: number;
};
export type SamplerKind = 'random' | 'optuna';
export type Saving =
    | { now: 'idle' }
    | { now: 'done' }
    | { now: 'waiting' }
    | { now: 'never'; why: string }
    | { now: 'writing'; percent: number }
    | { now: 'failed'; why: string };
export type Signature = { parameters: string[]; returns: string | null; active: number | null };
export type Slot = { name: string; range: CodeRange | null };
export type Snapshot = {
    name: string;
    states: State[];
    runs: Run[];
    drafts: Draft[];
    sweeps?: Sweep[];
    python: Python;
    trouble: DiskStatus | null;
    offsite?: OffsiteStatus | null;
    people: Participant[];
};
export type State = {
    id: StateId;
    name: string;
    parent: StateId | null;
    taken_from?: StateId | null;
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
    in_memory_since?: number | null;
    deleted_at?: number | null;
    checkpoint: Checkpoint | null;
    saving: Saving;
    revival: RestoredFrom | null;
    memory_bytes: number | null;
    shared_bytes: number | null;
    changes: Changes | null;
    partial?: boolean;
};
export type StateId = string;
export type StateRef = string;
export type StopRule = { trials: number | null; seconds: number | null; target: number | null };
export type StopRuleInput = {
    trials?: number | null;
    seconds?: number | null;
    target?: number | null;
};
export type StreamName = 'stdout' | 'stderr';
export type Sweep = {
    id: SweepId;
    at: StateId;
    code: string;
    parameters: Slot[];
    options: SweepOptions;
    sampler?: Sampler | null;
    rows: SweepRow[];
    created_at: number;
    status: SweepStatus;
    ended_at: number | null;
    note: string | null;
};
export type SweepId = string;
export type SweepOptions = {
    metric: string | null;
    goal: Goal;
    parallel: number | null;
    timeout: number | null;
    run_memory: number | null;
    stop: StopRule;
    keep: number | null;
    rungs: Rungs | null;
    label: string | null;
    where: RowPlace;
    resources?: Resources;
};
export type SweepRow = { values: string[]; ends: RowEnd[] };
export type SweepSpec = {
    sweep_id?: SweepId | null;
    at: StateRef;
    code: string;
    grid?: Record<string, unknown> | null;
    rows?: Record<string, unknown>[] | null;
    sampler?: SamplerInput | null;
    metric?: string | null;
    goal?: Goal;
    parallel?: number | null;
    timeout?: number | null;
    run_memory?: number | null;
    stop?: StopRuleInput;
    keep?: number | null;
    rungs?: RungsInput | null;
    label?: string | null;
    where?: RowPlace;
    resources?: Resources;
};
export type SweepStatus = 'running' | 'done' | 'stopped';
export type SyntaxProblem = { from: number; to: number; message: string };
export type Table = {
    columns: TableColumn[];
    columns_left_out: number;
    total: number;
    matching: number;
    count: number;
    rows: ((string | null)[])[] | null;
    text: string | null;
    summaries: TableSummaries | null;
};
export type TableColumn = { name: string; dtype: string; kind: ColumnKind; is_index: boolean };
export type TableFilter = { column: number; is: Condition; value?: string };
export type TableForm = 'cells' | 'csv' | 'tsv';
export type TableSort = { column: number; descending?: boolean };
export type TableSummaries = { columns: (ColumnSummary | null)[]; sampled: number | null };
export type TableView = {
    expression: string;
    sort?: TableSort | null;
    filters?: TableFilter[];
    offset?: number;
    limit: number;
    form?: TableForm;
    columns?: number[] | null;
    names?: boolean | null;
    summaries?: boolean;
};
export type TakenName = { name: string; rename?: string | null };
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
export type ValueEntry = { key: string | null; type: string; text: string; count: number | null };
export type ValuePart = { count: number | null; entries: ValueEntry[]; picture: string | null };
export type ValuePartView = { name: string; path?: number[]; offset?: number };
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
export type Wanted = Changed | string[];
export type WidgetBuffer = { path: unknown[]; data: string };
export type WidgetMessage =
    | {
        method: 'open';
        model: string;
        state: Record<string, unknown>;
        buffers?: WidgetBuffer[];
    }
    | {
        method: 'update';
        model: string;
        state: Record<string, unknown>;
        buffers?: WidgetBuffer[];
        echo?: string | null;
    }
    | {
        method: 'custom';
        model: string;
        content: unknown;
        buffers?: string[];
    }
    | { method: 'close'; model: string };
export type WidgetModel = {
    state: Record<string, unknown>;
    buffers?: WidgetBuffer[];
    closed?: boolean;
};
