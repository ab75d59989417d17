// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the tests hold templates as text
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cp, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { withCalls } from './htm-calls.mjs';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** The type of `html` when templates are calls: a component's props must match its declaration. */
const HTML_AS_CALL = `
import type { Component as AnyComponent, VNode } from 'preact';
type PropsOf<C> = C extends new (...args: any[]) => AnyComponent<infer P, any> ? P
    : C extends () => unknown ? {}
    : C extends (props: infer P) => unknown ? P : never;
export declare function html(type: string, props: Record<string, unknown>, ...children: unknown[]): VNode;
export declare function html<C extends (new (...args: any[]) => any) | ((props: any) => unknown)>(
    type: C, props: PropsOf<C> & { key?: unknown; ref?: unknown }): VNode;
`;

/**
 * Copies the modules to check, with each html\`…\` as a call.
 * @param {string} copy a directory
 */
async function copyWithCalls(copy) {
    await cp(join(root, 'web'), join(copy, 'web'), { recursive: true });
    await cp(join(root, 'tests/web'), join(copy, 'tests/web'), { recursive: true });
    await symlink(join(root, 'node_modules'), join(copy, 'node_modules'));
    for (const path of await readdir(join(copy, 'web'), { recursive: true })) {
        if (!path.endsWith('.js') || path.startsWith('vendor')) continue;
        const file = join(copy, 'web', path);
        await writeFile(file, withCalls(await readFile(file, 'utf8')));
    }
    const vendored = join(copy, 'web/vendor/preact.d.ts');
    const types = await readFile(vendored, 'utf8');
    await writeFile(vendored, types.replace(/^export \{ html \}.*$/m, HTML_AS_CALL));
}

test('the types in the comments are correct, and so are the props of components in templates', async (t) => {
    const copy = await mkdtemp(join(tmpdir(), 'ratoon-types-'));
    t.after(() => rm(copy, { recursive: true }));
    await copyWithCalls(copy);
    const { stdout, status } = spawnSync(
        process.execPath,
        [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tests/web/tsconfig.json'],
        { cwd: copy, encoding: 'utf8' },
    );
    assert.equal(status, 0, stdout);
});

test('the types of the tests are correct', () => {
    const { stdout, status } = spawnSync(
        process.execPath,
        [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tests/tsconfig.json'],
        { cwd: root, encoding: 'utf8' },
    );
    assert.equal(status, 0, stdout);
});

test('a template is checked as the call that htm makes of it, with the same line numbers', () => {
    const called = (/** @type {string} */ text) => withCalls(text).replaceAll(/\s+/g, ' ');
    assert.equal(
        called('html`<p class="a ${b}" ...${c}>${d} and ${html`<${E} f />`}</p>`'),
        'html("p", {"class": `a ${(b)}`, ...(c)}, (d), " and ", (html((E), {"f": true})))',
    );
    assert.equal(called("/`/; '`'; `${html`<p />`}` // `"), '/`/; \'`\'; `${html("p", {})}` // `');
    const text = 'html`\n<p\n a=${b}\n c=${{\n}}>${d}\n</p>`\n+ 1';
    assert.equal(withCalls(text).split('\n').length, text.split('\n').length);
});

test('every module has its types checked', async () => {
    const web = join(root, 'web');
    for (const path of await readdir(web, { recursive: true })) {
        // Two classic scripts are exempt: one runs before the page's modules, the other on a page
        // of its own.
        if (
            !path.endsWith('.js') ||
            path.startsWith('vendor') ||
            ['early.js', 'strip-token.js'].includes(path)
        )
            continue;
        assert.match(await readFile(join(web, path), 'utf8'), /^\/\/ @ts-check\n/, path);
    }
});
