import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { buildVendor } from '../../web/vendor/build.mjs';

test('the vendor bundles equal a new build of the pinned packages, byte for byte', async () => {
    const committed = fileURLToPath(new URL('../../web/vendor', import.meta.url));
    const built = await mkdtemp(join(tmpdir(), 'ratoon-vendor-'));
    try {
        await buildVendor(built);
        const names = (await readdir(committed)).filter((name) => name !== 'build.mjs').sort();
        assert.deepEqual((await readdir(built)).sort(), names);
        for (const name of names) {
            const [own, other] = await Promise.all(
                [committed, built].map((folder) => readFile(join(folder, name))),
            );
            assert.ok(own.equals(other), `${name} differs: run npm run vendor`);
        }
    } finally {
        await rm(built, { recursive: true });
    }
});

test('the vendor bundles contain no path of a machine and no registry', async () => {
    const folder = fileURLToPath(new URL('../../web/vendor/', import.meta.url));
    for (const name of await readdir(folder)) {
        if (name.endsWith('.js'))
            assert.doesNotMatch(
                await readFile(join(folder, name), 'utf8'),
                /node_modules|\/home\/|\/root\/|\/work\//,
                name,
            );
    }
});
