// A notebook in which states live everywhere at once, for the stand-in.
// By hand: node tests/browser/mock.mjs PORT kept

import { KEPT } from './mock.mjs';

const checkpoint = (bytes, missing = [], is_trusted = true) => ({ checkpoint_id: `c${bytes}`, form: 'environment', compressed_size_bytes: bytes, missing, is_trusted });
export const MISSING = [
    { name: 'rows', type: 'generator', reason: 'a generator cannot be saved: it holds the place where its code stopped' },
    { name: 'guard', type: 'lock', reason: 'a lock cannot be saved' },
];
export const TROUBLE = { what: 'write to main.ratoon', why: 'no space left on device', how: 'free some space on that disk' };

/** [id, parent, code, what is special] */
const LINES = [
    ['load', 'initial', 'import pandas as pd\ndf = pd.read_csv("cities.csv")', { memory_bytes: 184_000_000, checkpoint: checkpoint(52_000_000), pinned: true }],
    ['clean', 'load', 'df = df.dropna()', { memory_bytes: 3_100_000, checkpoint: checkpoint(1_200_000) }],
    ['disk', 'clean', 'big = df[df.population > 100_000]', { living: 'disk', checkpoint: checkpoint(1_200_000) }],
    ['partial', 'disk', 'rows = (row for row in df.itertuples())', { living: 'disk', checkpoint: checkpoint(1_210_000, MISSING) }],
    ['restored', 'partial', 'print(big.shape)', { checkpoint: checkpoint(1_220_000, MISSING), revival: { by: 'checkpoint', missing: MISSING }, memory_bytes: 900_000 }],
    ['writing', 'clean', 'model = fit(df)', { saving: { now: 'writing', percent: 40 }, memory_bytes: 820_000_000 }],
    ['failed', 'writing', 'model.score(df)', { saving: { now: 'failed', why: 'no space left on device' }, memory_bytes: 1_400_000 }],
    ['only', 'writing', 'rows = iter(model)', { memory_bytes: 1_400_000, checkpoint: checkpoint(1_230_000, MISSING.slice(0, 1)) }],
    ['replay', 'load', 'stream = open_stream()', { living: 'replay' }],
    ['after', 'replay', 'next(stream)', { living: 'replay' }],
    ['foreign', 'load', 'theirs = 1', { living: 'disk', checkpoint: checkpoint(64_000, [], false) }],
    ['gone', 'load', 'oops = 1', { living: 'deleted' }],
    ['leaf', 'gone', 'fine = 2', {}],
];

export function kept() {
    const root = { id: 'initial', name: 'initial', parent: null, exec_id: null, exec_count: 0, created_at: 1, label: null, prose: [], warnings: [], ...KEPT };
    const states = [root];
    const runs = [];
    for (const [id, parent, code, more] of LINES) {
        const exec_count = states.find((one) => one.id === parent).exec_count + 1;
        states.push({ ...root, id, name: id, parent, exec_id: `run-${id}`, exec_count, ...more });
        runs.push({ ...RUN, exec_id: `run-${id}`, on: { state: parent }, code, state: id, outputs: [{ output_type: 'stream', name: 'stdout', text: `output of ${id}\n` }] });
    }
    const stopped = { ename: 'KeyboardInterrupt', evalue: 'interrupted by server stop', traceback: [] };
    const draft = { id: 'stopped', on: 'restored', kind: 'code', source: 'for i in range(100): train(i)' };
    runs.push({ ...RUN, exec_id: 'run-stopped', on: { state: 'restored' }, code: draft.source, status: 'interrupted', draft: draft.id, error: stopped, duration_ms: 3200,
        outputs: [{ output_type: 'stream', name: 'stdout', text: 'epoch 0\nepoch 1\n' }, { output_type: 'error', ...stopped }] });
    return { states, runs, drafts: [draft] };
}

const RUN = { status: 'ok', draft: null, outputs: [], error: null, prompt: null, started_at: 1, duration_ms: 12, state: null };
