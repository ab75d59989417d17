// Notebooks for the stand-in with instructive graphs: a short one with three branches, an
// afternoon's work, and large ones.

import { deflateSync, crc32 } from 'node:zlib';
import { KEPT } from './mock.mjs';

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
const ERROR = {
    ename: 'ValueError',
    evalue: 'could not convert string to float: "n/a"',
    traceback: ['\u001b[31mValueError\u001b[39m: could not convert string to float: "n/a"'],
};

/** Draws a bar chart on white. @returns {string} base64 of a PNG */
export function bars(width = 320, height = 200, heights = [40, 90, 140, 180, 150, 100, 60, 30]) {
    const raw = Buffer.alloc((3 * width + 1) * height, 255);
    for (let y = 0; y < height; y += 1) {
        raw[y * (3 * width + 1)] = 0;
        for (let x = 0; x < width; x += 1) {
            const bar = Math.floor((x * heights.length) / width);
            const isGap = x % (width / heights.length) < 6;
            if (!isGap && height - y < heights[bar]) raw.set([42, 117, 73], y * (3 * width + 1) + 1 + 3 * x);
        }
    }
    const chunk = (kind, data) => {
        const body = Buffer.concat([Buffer.from(kind), data]);
        const length = Buffer.alloc(4);
        length.writeUInt32BE(data.length);
        const check = Buffer.alloc(4);
        check.writeUInt32BE(crc32(body));
        return Buffer.concat([length, body, check]);
    };
    const head = Buffer.alloc(13);
    head.writeUInt32BE(width, 0);
    head.writeUInt32BE(height, 4);
    head.set([8, 2, 0, 0, 0], 8);
    return Buffer.concat([
        Buffer.from('89504e470d0a1a0a', 'hex'),
        chunk('IHDR', head),
        chunk('IDAT', deflateSync(raw)),
        chunk('IEND', Buffer.alloc(0)),
    ]).toString('base64');
}

export const plot = (heights) => [
    {
        output_type: 'display_data',
        data: { 'image/png': bars(320, 200, heights), 'text/plain': '<Figure>' },
        metadata: {},
    },
];
const drawing = [
    {
        output_type: 'display_data',
        data: {
            'image/svg+xml':
                '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 300 120"><rect width="300" height="120" fill="#fff"/><path d="M10 110 C 80 110 90 20 150 20 S 220 110 290 110" fill="none" stroke="#2a7549" stroke-width="5"/></svg>',
        },
        metadata: {},
    },
];

/**
 * Makes a notebook from lines: [id, parent, code, properties of the state, properties of the run].
 * A line without a state is a failed run.
 */
export function notebook(lines) {
    const now = Date.now();
    const root = {
        id: 'initial',
        name: 'initial',
        parent: null,
        exec_id: null,
        exec_count: 0,
        created_at: now - 9e6,
        label: null,
        prose: [],
        warnings: [],
        ...KEPT,
    };
    const states = [root];
    const byId = new Map([['initial', root]]);
    const runs = [];
    lines.forEach(([id, parent, code, more = {}, run = /** @type {any} */ ({})], i) => {
        const started_at = now - (lines.length - i) * 140_000;
        const isOk = (run.status ?? 'ok') === 'ok';
        runs.push({
            ...RUN,
            exec_id: `run-${id}`,
            on: { state: parent },
            code,
            started_at,
            state: isOk ? id : null,
            ...(run.status === 'error'
                ? { error: ERROR, outputs: [{ output_type: 'error', ...ERROR }] }
                : {}),
            ...run,
        });
        if (!isOk) return;
        const state = {
            ...root,
            id,
            name: id,
            parent,
            exec_id: `run-${id}`,
            exec_count: byId.get(parent).exec_count + 1,
            created_at: started_at,
            memory_bytes: 2_400_000,
            ...more,
        };
        states.push(state);
        byId.set(id, state);
    });
    return { states, runs };
}

const changes = (added = [], changed = [], removed = []) => ({
    changes: { added, changed, removed, more: 0 },
});
const failed = { status: 'error' };
const disk = {
    living: 'disk',
    memory_bytes: null,
    checkpoint: {
        checkpoint_id: 'c',
        form: 'environment',
        compressed_size_bytes: 52_000_000,
        missing: [],
        is_trusted: true,
    },
};

/**
 * A sweep of two parameters. Its last rows still run or wait, one has failed, and somebody has
 * continued from one.
 * @param {number} [count] the number of rows
 */
export function swept(count = 24) {
    const lines = /** @type {any[]} */ ([['base', 'initial', 'data = load()', changes(['data'])]]);
    const rows = Array.from({ length: count }, (_, row) => {
        const [lr, depth] = [10 ** -(row % 4), 1 + Math.floor(row / 4)];
        const values = [String(lr), String(depth)];
        const [state, isLate] = [`row${row}`, count > 8 && row >= count - 4];
        const exec_id = `s.${row}`;
        if (isLate && row < count - 2) {
            const run = { exec_id, status: 'running', duration_ms: null };
            lines.push([state, 'base', `lr = ${lr}\ndepth = ${depth}`, {}, run]);
        }
        if (isLate) return { values, ends: [] };
        const isBad = row === 5;
        const metric = isBad ? null : 0.95 - 0.02 * Math.abs(row - 9) + 0.004 * (row % 3);
        const living = row % 5 === 4 ? { living: 'replay', memory_bytes: null } : {};
        const more = isBad
            ? { status: 'error' }
            : row % 3 === 0
              ? { outputs: plot([20 + ((7 * row) % 150), 90, 60]) }
              : {};
        lines.push([
            state,
            'base',
            `lr = ${lr}\ndepth = ${depth}`,
            living,
            { exec_id, duration_ms: 1200 + 90 * row, ...more },
        ]);
        const error = isBad ? 'ValueError: could not convert string to float: "n/a"' : null;
        const end = { status: isBad ? 'error' : 'ok', state: isBad ? null : state, metric, error };
        return { values, ends: [{ ...end, duration_ms: 1200 + 90 * row }] };
    });
    lines.push(['later', 'row3', 'model.save()', changes(['saved'])]);
    const isOver = rows.every(({ ends }) => ends.length);
    const sweep = {
        id: 's',
        at: 'base',
        code: 'lr = 0.1\ndepth = 3\nacc = fit(lr, depth)',
        parameters: [
            { name: 'lr', range: { from: 5, to: 8 } },
            { name: 'depth', range: { from: 17, to: 18 } },
        ],
        options: {
            metric: 'acc',
            goal: 'max',
            parallel: 2,
            timeout: null,
            run_memory: null,
            stop: {},
            keep: 5,
            rungs: null,
            label: null,
        },
        rows,
        created_at: Date.now() - 60_000,
        status: isOver ? 'done' : 'running',
        ended_at: isOver ? Date.now() : null,
        note: null,
    };
    const made = notebook(lines);
    for (const state of made.states) {
        const run = made.runs.find((one) => one.state === state.id);
        if (run) state.exec_id = run.exec_id;
    }
    return { ...made, sweeps: [sweep] };
}

/** Twelve states, three branches. */
export const short = () =>
    notebook([
        ['a', 'initial', 'import pandas as pd\nimport matplotlib.pyplot as plt', changes(['pd', 'plt'])],
        [
            'b',
            'a',
            'df = pd.read_csv("cities.csv")',
            { ...changes(['df']), memory_bytes: 184_000_000 },
            { duration_ms: 3400 },
        ],
        ['c', 'b', 'df = df.dropna()', changes([], ['df'])],
        ['d', 'c', 'df.plot.bar(x="city", y="population")', {}, { outputs: plot() }],
        ['e', 'd', 'big = df[df.population > 100_000]', { ...changes(['big']), label: 'only large cities' }],
        ['f', 'e', 'big.describe()', {}],
        ['g', 'c', 'df = df[df.area > 50]', changes([], ['df'])],
        ['g2', 'g', 'model = fit(df, depth=)', {}, failed],
        [
            'h',
            'g',
            'model = fit(df, depth=3)',
            { ...changes(['model']), memory_bytes: 820_000_000 },
            { duration_ms: 42_000 },
        ],
        ['i', 'h', 'model.score(df)', { pinned: true }],
        [
            'j',
            'g',
            'model = fit(df, depth=9)',
            {
                ...changes(['model']),
                memory_bytes: 1_820_000_000,
                warnings: ['holds a live thread: loky worker'],
            },
            { duration_ms: 131_000 },
        ],
        ['k', 'j', 'plot_residuals(model)', {}, { outputs: drawing }],
    ]);

/** Forty states, with variants, failures, plots and labels. */
export const afternoon = () =>
    notebook([
        [
            'imports',
            'initial',
            'import numpy as np\nimport pandas as pd\nimport seaborn as sns',
            changes(['np', 'pd', 'sns']),
            { duration_ms: 1900 },
        ],
        [
            'load',
            'imports',
            'raw = pd.read_parquet("trips-2025.parquet")',
            { ...changes(['raw']), ...disk, label: 'loaded' },
            { duration_ms: 18_400 },
        ],
        ['head', 'load', 'raw.head()', disk],
        ['info', 'head', 'raw.info()', disk],
        ['types', 'info', 'raw.dtypes.value_counts()', disk],
        ['nulls', 'types', 'raw.isna().mean().sort_values()', disk],
        [
            'cols',
            'nulls',
            'cols = [c for c in raw if raw[c].nunique() > 1]',
            { ...disk, ...changes(['cols']) },
        ],
        ['keep', 'cols', 'df = raw[cols].copy()', { ...disk, ...changes(['df']) }],
        ['dates', 'keep', 'df["start"] = pd.to_datetime(df.start)', { ...disk, ...changes([], ['df']) }],
        ['num1', 'dates', 'df["fare"] = df.fare.astype(float)', {}, failed],
        ['num2', 'dates', 'df["fare"] = pd.to_numeric(df.fare, errors="coerce")', changes([], ['df'])],
        ['hist', 'num2', 'sns.histplot(df.fare)', {}, { outputs: plot() }],
        ['clip', 'hist', 'df = df[df.fare.between(1, 200)]', changes([], ['df'])],
        [
            'clean',
            'clip',
            'df = df.dropna(subset=["fare", "distance"])',
            { ...changes([], ['df']), label: 'clean', pinned: true, memory_bytes: 640_000_000 },
            { duration_ms: 2300 },
        ],
        [
            'feat',
            'clean',
            'X = features(df)',
            { ...changes(['X']), memory_bytes: 310_000_000 },
            { duration_ms: 8100 },
        ],
        ['split', 'feat', 'Xa, Xb, ya, yb = split(X, df.fare)', changes(['Xa', 'Xb', 'ya', 'yb'])],
        ['lin', 'split', 'model = LinearRegression().fit(Xa, ya)', changes(['model']), { duration_ms: 1200 }],
        ['lins', 'lin', 'model.score(Xb, yb)', {}],
        ['linp', 'lins', 'residuals(model)', {}, { outputs: plot([20, 60, 130, 170, 160, 90, 40, 10]) }],
        [
            'tree',
            'split',
            'model = RandomForest(depth=4).fit(Xa, ya)',
            changes(['model']),
            { duration_ms: 31_000 },
        ],
        ['trees', 'tree', 'model.score(Xb, yb)', {}],
        [
            'tree9',
            'split',
            'model = RandomForest(depth=9).fit(Xa, ya)',
            { ...changes(['model']), warnings: ['holds 4 live threads (loky)'] },
            { duration_ms: 74_000 },
        ],
        ['tree9s', 'tree9', 'model.score(Xb, yb)', {}],
        [
            'tree9p',
            'tree9s',
            'residuals(model)',
            { label: 'best so far' },
            { outputs: plot([10, 30, 150, 190, 150, 30, 20, 5]) },
        ],
        ['xgb1', 'split', 'import xgboost', {}, failed],
        ['sub', 'tree9p', 'importances = model.feature_importances_', changes(['importances'])],
        ['top', 'sub', 'top = importances.nlargest(12)', changes(['top'])],
        ['topp', 'top', 'top.plot.barh()', {}, { outputs: plot([180, 150, 120, 90, 70, 50, 30, 20]) }],
        ['log', 'clean', 'df["lf"] = np.log(df.fare)', changes([], ['df'])],
        ['logx', 'log', 'X = features(df, log=True)', changes(['X'])],
        ['logs', 'logx', 'Xa, Xb, ya, yb = split(X, df.lf)', changes(['Xa', 'Xb', 'ya', 'yb'])],
        [
            'logm',
            'logs',
            'model = RandomForest(depth=9).fit(Xa, ya)',
            changes(['model']),
            { duration_ms: 69_000 },
        ],
        ['logsc', 'logm', 'np.exp(model.predict(Xb))', {}],
        ['bad1', 'logsc', 'report(model, Xb)', {}, failed],
        ['bad2', 'logsc', 'report(model, Xb, yb)', {}, failed],
        ['rep', 'logsc', 'report(model, Xb, yb, log=True)', {}, { outputs: drawing }],
        ['old', 'hist', 'df.fare.describe()', {}],
        ['late', 'load', 'raw.query("fare < 0")', {}, failed],
        ['final', 'topp', 'save(model, "fares.bin")', { label: 'delivered' }, { duration_ms: 900 }],
        ['note', 'final', 'summary = describe(model)', changes(['summary'])],
        ['note2', 'note', 'print(summary)', changes()],
    ]);

/**
 * A notebook with `count` cells: mostly one line, with some branches and failures. Deterministic.
 */
export function large(count) {
    let seed = 12345;
    const next = (below) => {
        seed = (seed * 48271) % 2147483647;
        return seed % below;
    };
    const lines = [];
    const ids = ['initial'];
    for (let i = 1; i < count; i += 1) {
        const parent =
            next(100) < 94 ? ids.at(-1) : ids[Math.max(0, ids.length - 1 - next(Math.min(ids.length, 60)))];
        const isBad = next(20) === 0;
        lines.push([
            `n${i}`,
            parent,
            `step_${i} = transform(step_${Math.max(0, i - 1)}, rate=0.${next(90) + 10})`,
            next(60) === 0 ? { label: `milestone ${i}` } : changes([`step_${i}`]),
            isBad ? failed : next(50) === 0 ? { outputs: drawing } : {},
        ]);
        if (!isBad) ids.push(`n${i}`);
    }
    return notebook(lines);
}
export const thousand = () => large(1000);
export const tenThousand = () => large(10_000);
