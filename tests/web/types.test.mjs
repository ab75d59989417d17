import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

test('the types in the comments hold', () => {
    const { stdout, status } = spawnSync(process.execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', 'tests/web/tsconfig.json'], { cwd: root, encoding: 'utf8' });
    assert.equal(status, 0, stdout);
});

test('every module asks for its types to be checked', async () => {
    for (const folder of ['web', 'web/text', 'web/view', 'web/view/graph', 'web/words']) {
        for (const name of await readdir(join(root, folder))) {
            // The two that run as they are, before and instead of the page.
            if (!name.endsWith('.js') || ['early.js', 'exchange.js'].includes(name)) continue;
            assert.match(await readFile(join(root, folder, name), 'utf8'), /^\/\/ @ts-check\n/, `${folder}/${name}`);
        }
    }
});
