// Checks the structure of web/: which modules may import which others, and what no module may
// contain.

import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const web = fileURLToPath(new URL('../../web', import.meta.url));

/** Our own modules: path below web/ → text. */
/** @returns {Promise<Map<string, string>>} */
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
    cell: ['cell-operations', 'clipboard-history', 'selection'],
    checkpoints: ['checkpoint-controller', 'residency'],
    commands: ['commands'],
    compare: ['comparison', 'differences'],
    editor: ['code-assist'],
    find: ['matches'],
    graph: ['folding', 'layout', 'node-names', 'node-search', 'nodes', 'scene'],
    notebook: ['cell-list', 'deletion', 'drafts', 'orphaned-edits', 'shared-text'],
    outputs: ['libraries', 'mime'],
    presence: ['presence'],
    shell: ['model', 'protocol', 'run-completion-buffer', 'words'],
    variables: ['variables'],
};
const isPure = (path) =>
    /^text\/|words\.js$/.test(path) ||
    PURE[path.split('/')[0]]?.includes(path.split('/')[1]?.replace('.js', ''));

/** CodeMirror's texts, changes and parsers do not access the DOM. */
const isValueLibrary = (path, name) => path.startsWith('text/') && name === '../vendor/codemirror.js';

test('what is pure imports no view, no library and no socket', async () => {
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

test('only socket.js opens a socket, or early.js for it; only share-links.js, notebooks-api.js and library-scripts.js ask over HTTP', async () => {
    for (const [path, text] of await modules()) {
        if (!['shell/socket.js', 'early.js'].includes(path)) assert.doesNotMatch(text, /new WebSocket/, path);
        if (
            ![
                'shell/socket.js',
                'share/share-links.js',
                'home/notebooks-api.js',
                'outputs/library-scripts.js',
            ].includes(path)
        )
            assert.doesNotMatch(text, /\bfetch\(/, path);
    }
});

test('HTML of others enters the page in one place, cleaned', async () => {
    for (const [path, text] of await modules()) {
        const sinks =
            text.match(/innerHTML|outerHTML|insertAdjacentHTML|dangerouslySetInnerHTML|document\.write/g) ??
            [];
        assert.equal(sinks.length, path === 'outputs/markdown.js' ? 1 : 0, path);
    }
});

test('frames of outputs may run scripts and nothing else', async () => {
    for (const [path, text] of await modules()) {
        for (const [, value] of text.matchAll(/sandbox="([^"]*)"/g))
            assert.equal(value, 'allow-scripts', path);
        if (path !== 'outputs/frame.js') assert.doesNotMatch(text, /<iframe|srcdoc/, path);
    }
});

test('the shells hold no inline script, style or handler', async () => {
    const templates = join(web, '../templates');
    for (const name of await readdir(templates)) {
        const text = await readFile(join(templates, name), 'utf8');
        assert.doesNotMatch(text, /<style|style="|\son\w+=|<script>/, name);
        for (const [, source] of text.matchAll(/(?:src|href)="([^"]*)"/g))
            assert.match(source, /^(\{\{ assets \}\}\/|\/n\/)/, name);
    }
});

test('no module imports itself through others, at once or later', async () => {
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

test('no two modules have one name', async () => {
    const names = [...(await modules()).keys()].map((path) => path.split('/').at(-1));
    assert.deepEqual(
        names.filter((name, i) => names.indexOf(name) !== i),
        [],
    );
});

test('the model has one writer, and so has the position of the page', async () => {
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
        assert.doesNotMatch(text, /\bpage\.(here|attempt) = /, `${path} moves the page`);
    }
});

test('a class in a template has a style, or code that looks for it', async () => {
    const all = await readdir(web, { recursive: true });
    const sheets = all.filter((path) => path.endsWith('.css') && !path.startsWith('vendor'));
    const css = (await Promise.all(sheets.map((path) => readFile(join(web, path), 'utf8')))).join('');
    const styled = new Set([...css.matchAll(/\.([a-z][a-z0-9-]*)/g)].map((found) => found[1]));
    // `dataframe` is pandas' own.
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
