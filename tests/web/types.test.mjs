import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the types in the comments hold', () => {
    const { stdout, status } = spawnSync(
        process.execPath,
        [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tests/web/tsconfig.json'],
        { cwd: root, encoding: 'utf8' },
    );
    assert.equal(status, 0, stdout);
});

test('every module asks for its types to be checked', async () => {
    const web = join(root, 'web');
    for (const path of await readdir(web, { recursive: true })) {
        // The two that run as they are, before and instead of the page.
        if (!path.endsWith('.js') || path.startsWith('vendor') || ['early.js', 'exchange.js'].includes(path))
            continue;
        assert.match(await readFile(join(web, path), 'utf8'), /^\/\/ @ts-check\n/, path);
    }
});
