// @ts-check
// Names that tell compared states apart. Pure.
//
// A state is named by its label, else by its code. If several have the same name, the first cell
// since their common ancestor comes before it, because there their lineages part. Else they are
// numbered.

import { fullName, Names } from '../graph/node-names.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */

/**
 * @param {Model} model
 * @param {State[]} states
 * @returns {string[]} one name for each state, all different
 */
export function comparedNames(model, states) {
    const shown = plainNames(model, states);
    const named = [...shown];
    for (const name of new Set(shown)) {
        const some = shown.flatMap((one, i) => (one === name ? [i] : []));
        if (some.length < 2) continue;
        const origins = originNames(
            model,
            some.map((i) => /** @type {State} */ (states[i])),
        );
        for (const [n, i] of some.entries())
            named[i] = origins ? SAY.nameFrom(name, origins[n] ?? '') : `${name} (${n + 1})`;
    }
    return named;
}

/** @param {Model} model @param {State[]} states */
function plainNames(model, states) {
    const names = new Names();
    const nodes = states.map((state) => ({
        parent: null,
        run: { code: model.runOf(state)?.code ?? '' },
        name: '',
    }));
    for (const node of nodes) names.add(node);
    return states.map(
        (state, i) =>
            state.label ??
            (state.parent === null
                ? SAY.start
                : fullName(nodes[i] ?? { name: '' }) || SAY.cell(state.exec_count)),
    );
}

/**
 * The names of the first cells at which the lineages of states part; null if these do not tell the
 * states apart.
 * @param {Model} model
 * @param {State[]} states
 */
function originNames(model, states) {
    const lines = states.map(({ id }) => model.lineage(id));
    const shared = sharedCount(lines);
    // One of the states may be an ancestor of the others.
    const origins = lines.map((line) => line[shared] ?? line.at(-1));
    if (origins.some((origin) => !origin)) return null;
    const names = plainNames(model, /** @type {State[]} */ (origins));
    const numbered = names.map((name, i) =>
        origins[i] === states[i] && lines[i]?.length === shared ? SAY.cell(states[i]?.exec_count ?? 0) : name,
    );
    return new Set(numbered).size === states.length ? numbered : null;
}

/** The number of states that lineages have in common. @param {State[][]} lines */
export function sharedCount(lines) {
    const [first = []] = lines;
    let shared = 0;
    while (shared < first.length && lines.every((line) => line[shared] === first[shared])) shared += 1;
    return shared;
}
