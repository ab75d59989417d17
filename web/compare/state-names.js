// @ts-check
// Names that tell compared states apart. Pure.
//
// A state without a label comes after that of its branch, if it has one. If several states have the
// same name, the name of the first cell since their common ancestor comes before it, because there
// their lineages part. Else they are numbered.

import { alikeIn, fullName, tailOf } from '../graph/node-names.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';

/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../graph/node-names.js').Told} Told */

/**
 * @param {Pick<import('../notebook/page.js').Page, 'model' | 'branches'>} page
 * @param {State[]} states
 * @returns {Told[]} one name for each state, all different
 */
export function comparedNames({ model, branches }, states) {
    const named = states.map(({ id, label }) => {
        const own = branches.nameOf(model, id);
        const branch = label ? null : branches.labelOf(model, id);
        return branch ? { name: SAY.nameFrom(fullName(own), branch), lead: '' } : own;
    });
    const full = named.map(fullName);
    return named.map((own, i) => {
        const alike = alikeIn(full, i);
        if (alike.length === 1) return own;
        const nth = alike.indexOf(i);
        const origin = originNames(
            { model, branches },
            alike.map((at) => /** @type {State} */ (states[at])),
        )?.[nth];
        const name = full[i] ?? '';
        if (!origin) return { name: `${name} (${nth + 1})`, lead: '' };
        return { name: SAY.nameFrom(name, tailOf(origin)), lead: origin.lead };
    });
}

/**
 * The names of the first cells at which the lineages of states part; null if these do not tell the
 * states apart.
 * @param {Pick<import('../notebook/page.js').Page, 'model' | 'branches'>} page
 * @param {State[]} states
 * @returns {Told[] | null}
 */
function originNames({ model, branches }, states) {
    const lines = states.map(({ id }) => model.lineage(id));
    const shared = sharedCount(lines);
    // One of the states may be an ancestor of the others.
    const origins = lines.map((line) => line[shared] ?? line.at(-1));
    if (origins.some((origin) => !origin)) return null;
    const names = origins.map((origin, i) =>
        origin === states[i] && lines[i]?.length === shared
            ? { name: SAY.cell(states[i]?.exec_count ?? 0), lead: '' }
            : branches.nameOf(model, origin?.id ?? ''),
    );
    return new Set(names.map(fullName)).size === states.length ? names : null;
}

/** The number of states that lineages have in common. @param {State[][]} lines */
export function sharedCount(lines) {
    const [first = []] = lines;
    let shared = 0;
    while (shared < first.length && lines.every((line) => line[shared] === first[shared])) shared += 1;
    return shared;
}
