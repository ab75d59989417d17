// Texts about the residency of states.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
    beforeRunText,
    cellsToReplay,
    isForeign,
    lacksNames,
    residencyParts,
    residencyText,
    residencyMark,
} from '../../web/checkpoints/residency.js';
import { Model } from '../../web/shell/model.js';
import { bytes } from '../../web/text/format.js';
import { WORDS } from '../../web/shell/words.js';
import { checkpoint as checkpointOf, python, root, snapshot } from './records.mjs';

const MISSING = [
    { name: 'g', type: 'generator', reason: 'it holds a place' },
    { name: 'l', type: 'lock', reason: 'it is locked' },
];
const checkpoint = (missing = [], is_trusted = true) =>
    checkpointOf({ compressed_size_bytes: 1_200_000, missing, is_trusted });

test('a state’s text names its residency and how it is saved', () => {
    /** @type {[Partial<import('./records.mjs').State>, string, string][]} */
    const cases = [
        [{}, 'In memory', 'In memory'],
        [
            { memory_bytes: 3_100_000, shared_bytes: 160_000_000, checkpoint: checkpoint() },
            'In memory, 3.1 MB own, 160 MB shared',
            'In memory · 3.1 MB own, 160 MB shared · 1.2 MB on disk',
        ],
        [
            { living: 'disk', checkpoint: checkpoint(MISSING) },
            'On disk, 1.2 MB; 2 variables could not be saved',
            'On disk · 1.2 MB · restored on next run',
        ],
        [
            { checkpoint: checkpoint(MISSING), revival: { by: 'checkpoint', missing: MISSING.slice(1) } },
            'In memory; one variable could not be restored',
            'In memory · 1.2 MB on disk',
        ],
        [
            {
                checkpoint: checkpointOf({
                    compressed_size_bytes: 1_200_000,
                    changed: [{ name: 'm', type: 'Mol', what: 'a Mol lost .note' }],
                }),
            },
            'In memory; one variable changes when loaded',
            'In memory · 1.2 MB on disk',
        ],
        [
            { living: 'replay', pinned: true },
            'Needs replay; unloads last once loaded',
            'Needs replay · unloads last once loaded',
        ],
        [{ saving: { now: 'writing', percent: 40 } }, 'In memory; saving 40%', 'In memory'],
        [
            { saving: { now: 'failed', why: 'the disk is full' } },
            'In memory; could not be saved: the disk is full',
            'In memory · not saved',
        ],
        [
            { revival: { by: 'replay' }, checkpoint: checkpoint(MISSING) },
            'In memory; 2 variables could not be saved',
            'In memory · 1.2 MB on disk · restored by replaying its cells',
        ],
        [
            { living: 'disk', checkpoint: checkpoint([], false) },
            'On disk, 1.2 MB; untrusted checkpoint: only plain values are loaded',
            'On disk · 1.2 MB · restored on next run',
        ],
        [{ living: 'deleted' }, '', ''],
    ];
    for (const [more, said, parts] of cases) {
        assert.equal(residencyText({ ...root, ...more }), said);
        assert.equal(residencyParts({ ...root, ...more }).join(' · '), parts);
    }
    assert.equal(
        residencyText({ ...root, living: 'replay' }, { done: 2, total: 7 }),
        'Needs replay; replaying 3 of 7',
    );
    assert.equal(residencyText(root, undefined, true), 'In memory; not on disk yet');
});

test('only unusual residency has a mark', () => {
    assert.equal(residencyMark({ ...root, checkpoint: checkpoint() }), null);
    assert.equal(residencyMark({ ...root, saving: { now: 'waiting' } }), null);
    assert.equal(residencyMark({ ...root, checkpoint: checkpoint(MISSING) }), 'partial');
    assert.equal(
        residencyMark({ ...root, checkpoint: checkpoint(MISSING), revival: { by: 'replay' } }),
        'partial',
        'a restart would lose the variables again',
    );
    assert.equal(
        residencyMark({ ...root, checkpoint: checkpoint(MISSING), saving: { now: 'writing', percent: 1 } }),
        'writing',
    );
    assert.equal(residencyMark({ ...root, saving: { now: 'failed', why: '' } }), 'failed');
});

test('a state lacks names if they were lost, not if they only cannot be saved', () => {
    assert.equal(lacksNames({ ...root, checkpoint: checkpoint(MISSING) }), false);
    assert.equal(lacksNames({ ...root, living: 'disk', checkpoint: checkpoint(MISSING) }), true);
    assert.equal(lacksNames({ ...root, checkpoint: checkpoint(MISSING), revival: { by: 'replay' } }), false);
});

test('trust is offered only if it would change what is loaded', () => {
    const foreign = checkpoint([], false);
    assert.equal(isForeign({ ...root, checkpoint: foreign }), false);
    assert.equal(isForeign({ ...root, checkpoint: foreign, living: 'disk' }), true);
    assert.equal(
        isForeign({ ...root, checkpoint: foreign, revival: { by: 'checkpoint', missing: [] } }),
        true,
    );
});

test('before a cell runs on a state, the page says what that state needs first', () => {
    const model = new Model();
    const before = (/** @type {Partial<import('./records.mjs').State>} */ more) => {
        model.load(snapshot({ states: [root, { ...root, id: 's', parent: 'initial', ...more }] }));
        return beforeRunText(model, 's');
    };
    assert.equal(before({}), '');
    assert.equal(before({ living: 'disk', checkpoint: checkpoint() }), 'Restores from disk.');
    const large = { ...checkpoint(MISSING), namespace_size_bytes: 2.4e9 };
    assert.equal(
        before({ living: 'disk', checkpoint: large }),
        'Restores from disk, about 2 s. 2 variables will be missing: g, l.',
    );
    const [one] = MISSING;
    assert.match(
        before({ living: 'disk', checkpoint: checkpoint([one]) }),
        /One variable will be missing: g\.$/,
    );
    assert.match(before({ living: 'disk', checkpoint: checkpoint([one, one, one, one]) }), /: g, g, g…$/);
    assert.equal(before({ living: 'replay' }), 'Runs one cell again first.');
});

test('a replay begins after the nearest complete ancestor', () => {
    const replayed = (...lives) => {
        const model = new Model();
        const states = [
            root,
            ...lives.map((more, i) => ({
                ...root,
                id: `s${i + 1}`,
                parent: i ? `s${i}` : 'initial',
                ...more,
            })),
        ];
        model.load({
            name: 'main',
            states,
            runs: [],
            drafts: [],
            python: python(),
            trouble: null,
            people: [],
        });
        return cellsToReplay(model, `s${lives.length}`)
            .map((state) => state.id)
            .join(' ');
    };
    const lost = { living: 'replay' };
    assert.equal(replayed({}, {}), '');
    assert.equal(replayed(lost, lost), 's1 s2');
    assert.equal(replayed({}, lost, lost), 's2 s3');
    assert.equal(replayed({ living: 'disk', checkpoint: checkpoint() }, lost), 's2');
    assert.equal(replayed({ living: 'disk', checkpoint: checkpoint(MISSING) }, lost), 's1 s2');
    assert.equal(replayed({ living: 'disk', checkpoint: checkpoint([], false) }, lost), 's1 s2');
    assert.equal(replayed({ forks: false }, lost), 's1 s2');
    assert.equal(replayed({ forks: false, checkpoint: checkpoint() }, lost), 's2');
    assert.equal(replayed({}, { living: 'disk', checkpoint: checkpoint() }), 's2');
    assert.equal(
        replayed({}, { checkpoint: checkpoint(MISSING), revival: { by: 'checkpoint', missing: MISSING } }),
        's2',
    );
});

test('sizes are shown in decimal units', () => {
    /** @type {[number, string][]} */
    const cases = [
        [0, '0 B'],
        [999, '999 B'],
        [1000, '1.0 kB'],
        [9949, '9.9 kB'],
        [9950, '10 kB'],
        [3_100_000, '3.1 MB'],
        [999_999, '1.0 MB'],
        [52e9, '52 GB'],
        [5e15, '5000 TB'],
    ];
    for (const [n, said] of cases) assert.equal(bytes(n), said);
});

test('the text about a failing disk says what failed, why, what to do, and that work can continue', () => {
    assert.equal(
        WORDS.trouble({ what: 'write to main.ratoon', why: 'the disk is full', how: 'free some space' }),
        'Cannot write to main.ratoon: the disk is full. Free some space. You can keep working: changes stay in memory and are saved once this is resolved.',
    );
});
