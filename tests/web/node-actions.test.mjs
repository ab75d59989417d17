import assert from 'node:assert/strict';
import test from 'node:test';
import { remove } from '../../web/graph/node-actions.js';
import { actionsOf, shortActionsOf } from '../../web/graph/node-menu.js';

/** @type {any} */
const node = { id: 'run', run: { exec_id: 'run' }, state: null, isFailedLeaf: true, from: 0 };

/** @param {string} scope */
function handsOf(scope) {
    const forgotten = [];
    const edits = { forgetAttempt: (run) => forgotten.push(run) };
    const page = { mayRun: scope !== 'view', scope, here: 'initial', attempt: null };
    /** @type {any} */
    const hands = { page, controller: { edits } };
    return { hands, forgotten };
}

test('only the owner can delete an attempt from the graph', () => {
    for (const scope of ['owner', 'run', 'view']) {
        const count = scope === 'owner' ? 1 : 0;
        const { hands, forgotten } = handsOf(scope);
        for (const actions of [actionsOf(hands, node), shortActionsOf(hands, node)]) {
            const offered = actions.filter((action) => action && action.text === 'Delete failed attempt');
            assert.equal(offered.length, count, scope);
        }
        remove(hands, node);
        assert.equal(forgotten.length, count, scope);
    }
});
