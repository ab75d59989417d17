// A notebook for the stand-in with states of every residency. To open it by hand: node
// tests/browser/mock.mjs PORT kept

import { KEPT } from './mock.mjs';
import { png } from './png.mjs';

const checkpoint = (bytes, missing = [], is_trusted = true, changed = []) => ({
    checkpoint_id: `c${bytes}`,
    form: 'environment',
    compressed_size_bytes: bytes,
    missing,
    changed,
    is_trusted,
});
export const MISSING = [
    {
        name: 'rows',
        type: 'generator',
        reason: 'a generator cannot be saved: it holds the place where its code stopped',
    },
    { name: 'guard', type: 'lock', reason: 'a lock cannot be saved' },
];
export const CHANGED = [{ name: 'molecule', type: 'Mol', what: 'a Mol lost .source' }];
export const TROUBLE = {
    what: 'write to main.ratoon',
    why: 'no space left on device',
    how: 'free some space on that disk',
};

/** [id, parent, code, properties that differ from the defaults] */
const LINES = [
    [
        'load',
        'initial',
        'import pandas as pd\ndf = pd.read_csv("cities.csv")',
        {
            memory_bytes: 184_000_000,
            shared_bytes: 41_000_000,
            checkpoint: checkpoint(52_000_000),
            pinned: true,
        },
    ],
    ['clean', 'load', 'df = df.dropna()', { memory_bytes: 3_100_000, checkpoint: checkpoint(1_200_000) }],
    [
        'disk',
        'clean',
        'big = df[df.population > 100_000]',
        { living: 'disk', checkpoint: checkpoint(1_200_000) },
    ],
    [
        'partial',
        'disk',
        'rows = (row for row in df.itertuples())',
        { living: 'disk', checkpoint: checkpoint(1_210_000, MISSING) },
    ],
    [
        'restored',
        'partial',
        'print(big.shape)',
        {
            checkpoint: checkpoint(1_220_000, MISSING, true, CHANGED),
            revival: { by: 'checkpoint', missing: MISSING },
            memory_bytes: 900_000,
        },
    ],
    [
        'writing',
        'clean',
        'model = fit(df)',
        { saving: { now: 'writing', percent: 40 }, memory_bytes: 820_000_000 },
    ],
    [
        'failed',
        'writing',
        'model.score(df)',
        { saving: { now: 'failed', why: 'no space left on device' }, memory_bytes: 1_400_000 },
    ],
    [
        'only',
        'writing',
        'rows = iter(model)',
        { memory_bytes: 1_400_000, checkpoint: checkpoint(1_230_000, MISSING.slice(0, 1)) },
    ],
    ['replay', 'load', 'stream = open_stream()', { living: 'replay' }],
    ['after', 'replay', 'next(stream)', { living: 'replay' }],
    ['foreign', 'load', 'theirs = 1', { living: 'disk', checkpoint: checkpoint(64_000, [], false) }],
    ['gone', 'load', 'oops = 1', { living: 'deleted' }],
    ['leaf', 'gone', 'fine = 2', {}],
];

export function kept() {
    const root = {
        id: 'initial',
        name: 'initial',
        parent: null,
        exec_id: null,
        exec_count: 0,
        created_at: 1,
        label: null,
        prose: [],
        warnings: [],
        ...KEPT,
    };
    const states = [root];
    const runs = [];
    for (const [id, parent, code, more] of /** @type {[string, string, string, object][]} */ (LINES)) {
        const exec_count = states.find((one) => one.id === parent).exec_count + 1;
        states.push({ ...root, id, name: id, parent, exec_id: `run-${id}`, exec_count, ...more });
        runs.push({
            ...RUN,
            exec_id: `run-${id}`,
            on: { state: parent },
            code,
            state: id,
            outputs: [{ output_type: 'stream', name: 'stdout', text: `output of ${id}\n` }],
        });
    }
    const stopped = { ename: 'KeyboardInterrupt', evalue: 'interrupted by server stop', traceback: [] };
    const draft = { id: 'stopped', on: 'restored', kind: 'code', source: 'for i in range(100): train(i)' };
    runs.push({
        ...RUN,
        exec_id: 'run-stopped',
        on: { state: 'restored' },
        code: draft.source,
        status: 'interrupted',
        draft: draft.id,
        error: stopped,
        duration_ms: 3200,
        outputs: [
            { output_type: 'stream', name: 'stdout', text: 'epoch 0\nepoch 1\n' },
            { output_type: 'error', ...stopped },
        ],
    });
    return { states, runs, drafts: [draft] };
}

const RUN = {
    status: 'ok',
    draft: null,
    outputs: [],
    error: null,
    prompt: null,
    started_at: 1,
    duration_ms: 12,
    state: null,
};

const PLOT = (width, height, colour) => ({
    output_type: 'display_data',
    data: { 'image/png': png(width, height, colour), 'text/plain': `<Figure size ${width}x${height}>` },
    metadata: {},
});
const said = (text) => ({ output_type: 'stream', name: 'stdout', text });

/**
 * Two branches from the same data, with variables of every kind. To open it by hand: node
 * tests/browser/mock.mjs PORT branches
 */
export function branches() {
    const root = {
        id: 'initial',
        name: 'initial',
        parent: null,
        exec_id: null,
        exec_count: 0,
        created_at: 1.7e12,
        label: null,
        prose: [],
        warnings: [],
        ...KEPT,
    };
    const [states, runs] = [[root], []];
    const grow = (id, parent, code, outputs = [], more = {}) => {
        const exec_count = states.find((one) => one.id === parent).exec_count + 1;
        states.push({
            ...root,
            id,
            name: id,
            parent,
            exec_id: `run-${id}`,
            exec_count,
            created_at: 1.7e12 + states.length * 61_000,
            ...more,
        });
        runs.push({ ...RUN, exec_id: `run-${id}`, on: { state: parent }, code, state: id, outputs });
    };
    const changes = (added, changed = [], removed = []) => ({
        changes: { added, changed, removed, more: 0 },
    });
    grow('load', 'initial', 'import pandas as pd\ndf = pd.read_csv("cities.csv")', [], {
        label: 'loaded',
        ...changes(['pd', 'df']),
    });
    grow('away', 'load', 'stream = open_stream()', [], { living: 'replay' });
    const fit = (how, rate) =>
        `# Clean, then fit\ndf = df.${how}\nX = df[["area", "population"]]\nmodel = Ridge(alpha=${rate}).fit(X, df.price)\nscore = model.score(X, df.price)`;
    grow(
        'a1',
        'load',
        fit('dropna()', '0.1'),
        [said('epoch 1: loss 0.91\nepoch 2: loss 0.62\nepoch 3: loss 0.55\n')],
        changes(['X', 'model', 'score'], ['df']),
    );
    grow('a2', 'a1', 'plot(model)', [PLOT(640, 360, [42, 117, 73])], changes([]));
    grow(
        'b1',
        'load',
        fit('fillna(0)', '10'),
        [said('epoch 1: loss 0.91\nepoch 2: loss 0.48\nepoch 3: loss 0.31\n')],
        changes(['X', 'model', 'score'], ['df']),
    );
    grow('b2', 'b1', 'plot(model)', [PLOT(320, 240, [138, 80, 28])], changes([]));
    grow(
        'b3',
        'b2',
        'notes = """Better.\nThe loss falls faster."""\nbest = True',
        [],
        changes(['notes', 'best']),
    );
    const column = (name, fingerprint, dtype, more = {}) => ({ name, dtype, fingerprint, ...more });
    const frame = (rows, columns, fingerprint) => ({
        name: 'df',
        type: 'DataFrame',
        repr: '     city  area  population\n0  Lisbon  100      545796\n1   Porto   41      231800',
        size: `(${rows}, ${columns.length})`,
        bytes: rows * 8 * columns.length,
        fingerprint,
        summary: { kind: 'frame', rows, columns, more: 0 },
    });
    const array = (fingerprint, more) => ({
        name: 'X',
        type: 'ndarray',
        repr: 'array([[100.1, 545796.], [41.4, 231800.]])',
        size: '(980, 2)',
        bytes: 15_680,
        fingerprint,
        summary: { kind: 'array', shape: [980, 2], dtype: 'float64', nulls: 0, ...more },
    });
    const plain = (name, type, repr, more = {}) => ({
        name,
        type,
        repr,
        size: null,
        bytes: 28,
        fingerprint: repr,
        summary: null,
        ...more,
    });
    const tools = [
        plain('pd', 'module', "<module 'pandas'>", { bytes: null, fingerprint: null }),
        plain('seed', 'int', '42'),
    ];
    const area = column('area', 'area', 'float64', { min: 0.4, max: 1204, mean: 88.2, nulls: 0 });
    const before = [
        frame(
            980,
            [
                column('city', 'c', 'object'),
                area,
                column('population', 'p1', 'float64', { min: 912, max: 545796, mean: 48211.4, nulls: 0 }),
                column('old_id', 'o', 'int64', { min: 1, max: 1000 }),
            ],
            'd1',
        ),
        array('x1', { min: 0.4, max: 545796, mean: 24149.8 }),
        plain('model', 'Ridge', 'Ridge(alpha=0.1)'),
        plain('score', 'float', '0.8124', { type: 'float64', repr: 'np.float64(0.8124)' }),
        plain('title', 'str', "'Prices\\nby area\\nand people'"),
        plain('draft', 'list', '[1, 2, 3]', { size: '3' }),
        ...tools,
    ];
    const after = [
        frame(
            1000,
            [
                column('city', 'c', 'object'),
                area,
                column('population', 'p2', 'float64', { min: 0, max: 545796, mean: 47247.1, nulls: 0 }),
                column('density', 'n', 'float64', { min: 0, max: 9120.2, mean: 512.7, nulls: 20 }),
            ],
            'd2',
        ),
        array('x2', { min: 0, max: 545796, mean: 23667.6 }),
        plain('model', 'Ridge', 'Ridge(alpha=10)'),
        plain('score', 'float', '0.9071', { type: 'float64', repr: 'np.float64(0.9071)' }),
        plain('title', 'str', "'Prices\\nby area\\nand density'"),
        plain('notes', 'str', "'Better.\\nThe loss falls faster.'", { size: '31' }),
        plain('best', 'bool', 'True'),
        ...tools,
    ];
    return {
        states,
        runs,
        drafts: [],
        variables: {
            initial: [],
            load: tools,
            a1: before,
            a2: before,
            b1: after.slice(0, 5),
            b2: after.slice(0, 5),
            b3: after,
        },
    };
}
