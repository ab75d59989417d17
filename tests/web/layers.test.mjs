// Checks the structure of web/: which modules may import which others, and what no module may
// contain.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../web', import.meta.url));

/** Our own modules: path below web/ → text. @returns {Promise<Map<string, string>>} */
async function modules() {
    const all = await readdir(web, { recursive: true });
    const own = all.filter((path) => path.endsWith('.js') && !path.startsWith('vendor'));
    return new Map(
        await Promise.all(
            own.map(async (path) => /** @type {const} */ ([path, await readFile(join(web, path), 'utf8')])),
        ),
    );
}

const importsOf = (text) =>
    [...text.matchAll(/^import .*?from '(.*?)';|import\('([^']*?\.js)'\)(?!\.)/gms)].map(
        (found) => found[1] ?? found[2],
    );

/**
 * The modules without access to the DOM, by folder. All modules in text/ and all *words.js are
 * pure, too.
 */
const PURE = {
    branches: ['branch-rows', 'branch-table', 'branch-values'],
    cell: ['cell-operations', 'drop-cells', 'selection', 'undo-history'],
    checkpoints: ['checkpoint-controller', 'residency'],
    commands: ['commands'],
    compare: ['comparison', 'differences', 'many-differences', 'state-names'],
    editor: ['code-assist'],
    example: ['example-cells', 'guide'],
    files: ['files', 'file-browser'],
    find: ['matches', 'searched-outputs', 'table-text'],
    graph: [
        'branches',
        'code-name',
        'folding',
        'layout',
        'map-dots',
        'node-names',
        'node-search',
        'nodes',
        'scene',
    ],
    kept: ['kept-outputs'],
    lint: ['caret', 'problems'],
    notebook: [
        'cell-list',
        'state-deletion',
        'drafts',
        'orphaned-edits',
        'save-status',
        'sections',
        'shared-text',
    ],
    outline: ['outline'],
    outputs: ['libraries', 'mime', 'output-text'],
    presence: ['presence'],
    python: ['python-names', 'restart-plan'],
    take: ['take-plan'],
    shell: ['model', 'protocol', 'run-completion-buffer', 'words'],
    sweep: ['sweeps', 'sweep-form', 'sweep-plot', 'sweep-rows', 'values'],
    table: [
        'csv-records',
        'csv-table',
        'grid-columns',
        'grid-position',
        'loaded-rows',
        'row-scroll',
        'shown-table',
        'table-data',
    ],
    variables: ['value-kind', 'variables'],
    widgets: ['models'],
};
const isPure = (path) =>
    /^text\/|words\.js$/.test(path) ||
    PURE[path.split('/')[0]]?.includes(path.split('/')[1]?.replace('.js', ''));

/** CodeMirror's texts, changes and parsers do not access the DOM. */
const isValueLibrary = (path, name) => path.startsWith('text/') && name === '../vendor/codemirror.js';

test('pure modules import only pure modules, and use neither the DOM nor timers', async () => {
    for (const [path, text] of await modules()) {
        if (!isPure(path)) continue;
        for (const name of importsOf(text))
            assert.ok(
                isPure(join(path, '..', name)) || isValueLibrary(path, name),
                `${path} imports ${name}`,
            );
        assert.doesNotMatch(
            text,
            /\b(document|window|localStorage|setTimeout|Date\.now)\b/,
            `${path} is not pure`,
        );
    }
});

test('only three modules open a WebSocket, and only the listed modules use fetch', async () => {
    for (const [path, text] of await modules()) {
        if (!['shell/socket.js', 'early.js', 'terminal/terminals-api.js'].includes(path))
            assert.doesNotMatch(text, /new WebSocket/, path);
        if (
            ![
                'shell/socket.js',
                'share/share-links.js',
                'home/notebooks-api.js',
                'sweep/workers-api.js',
                'terminal/terminals-api.js',
                'trash/trash-api.js',
                'files/files-api.js',
                'example/example-api.js',
                'lint/lint-api.js',
                'settings/kept-settings.js',
                'agents/agents-api.js',
                'python/pythons-api.js',
                'outputs/library-scripts.js',
                'notebook/away.js',
                'notebook/memory-status.js',
                'widgets/widget-scripts.js',
            ].includes(path)
        )
            assert.doesNotMatch(text, /\bfetch\(/, path);
    }
});

test('only outputs/markdown.js inserts HTML into the page', async () => {
    for (const [path, text] of await modules()) {
        const sinks =
            text.match(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write/g) ??
            [];
        assert.equal(sinks.length, path === 'outputs/markdown.js' ? 1 : 0, path);
    }
});

test('output frames are allowed to run scripts and nothing else', async () => {
    for (const [path, text] of await modules()) {
        for (const [, value] of text.matchAll(/sandbox="([^"]*)"/g))
            assert.equal(value, 'allow-scripts', path);
        if (path !== 'outputs/frame.js') assert.doesNotMatch(text, /<iframe|srcdoc/, path);
    }
});

test('the HTML templates contain no inline script, style or handler', async () => {
    const templates = join(web, '../templates');
    for (const name of await readdir(templates)) {
        const text = await readFile(join(templates, name), 'utf8');
        assert.doesNotMatch(text, /<style|style="|\son\w+=|<script>/, name);
        for (const [, source] of text.matchAll(/(?:src|href)="([^"]*)"/g))
            assert.match(source, /^(\{\{ assets \}\}\/|\{\{ base \}\}\/n\/)/, name);
    }
});

test('no imports form a cycle, static or dynamic', async () => {
    const all = await modules();
    const seen = new Set();
    const follow = (path, above) => {
        assert.ok(
            !above.includes(path),
            `an import cycle: ${[...above.slice(above.indexOf(path)), path].join(' → ')}`,
        );
        if (seen.has(path)) return;
        for (const name of importsOf(all.get(path))) {
            const target = join(path, '..', name);
            if (all.has(target)) follow(target, [...above, path]);
        }
        seen.add(path);
    };
    for (const path of all.keys()) follow(path, []);
});

test('no two modules have the same file name', async () => {
    const names = [...(await modules()).keys()].map((path) => path.split('/').at(-1));
    assert.deepEqual(
        names.filter((name, i) => names.indexOf(name) !== i),
        [],
    );
});

test('only shell/model.js writes to the model, and only the page sets its position', async () => {
    for (const [path, text] of await modules()) {
        if (path !== 'shell/model.js') {
            assert.doesNotMatch(
                text,
                /\bmodel\.\w+ = |\bmodel\.\w+\.(set|delete|clear|add|push|splice)\(/,
                `${path} writes to the model`,
            );
        }
        if (!['notebook.js', 'notebook/page.js', 'checkpoints/checkpoint-controller.js'].includes(path)) {
            assert.doesNotMatch(
                text,
                /\bmodel\.(load|fold|moved|replayEnded)\(/,
                `${path} changes the model`,
            );
        }
        assert.doesNotMatch(text, /\bpage\.(here|attempt) = /, `${path} sets the position of the page`);
    }
});

/** The page's own style sheets: [path, text]. */
async function sheets() {
    const all = await readdir(web, { recursive: true });
    const own = all.filter((path) => path.endsWith('.css') && !path.startsWith('vendor'));
    return Promise.all(own.map(async (path) => [path, await readFile(join(web, path), 'utf8')]));
}

// `:has` on an element that holds many others is asked again at every change below it: it cost a
// third of the time from a key to its result.
test('no style depends on what a cell, the notebook or the graph contains', async () => {
    const large = /\.(app|cells-pane|notebook|cell|graph-pane|graph|rows)(\[[^\]]*\])*:has\(/g;
    const found = (await sheets()).flatMap(([path, text]) =>
        path.endsWith('print.css') ? [] : [...text.matchAll(large)].map(([selector]) => [path, selector]),
    );
    assert.deepEqual(found, []);
});

test('a class in a template has a style, or is a known hook', async () => {
    const css = (await sheets()).map(([, text]) => text).join('');
    const styled = new Set([...css.matchAll(/\.([a-z][a-z0-9-]*)/g)].map((found) => found[1]));
    // `dataframe` is a class of pandas.
    const hooks = new Set(['dataframe', 'find-by', 'find-text']);
    const unknown = [];
    for (const [path, text] of await modules()) {
        const literal = [...text.matchAll(/class="([^"$]*)"/g)].map((found) => found[1]);
        const chosen = [...text.matchAll(/class=\$\{([^}]*)\}/g)].flatMap((found) =>
            [...found[1].matchAll(/'([a-z][a-z -]*)'/g)].map((name) => name[1]),
        );
        const names = [...literal, ...chosen].flatMap((classes) => classes.split(' ').filter(Boolean));
        unknown.push(
            ...names.filter((name) => !styled.has(name) && !hooks.has(name)).map((name) => [path, name]),
        );
    }
    assert.deepEqual(unknown, []);
});
