// @ts-check
// Names that tell compared states apart. Pure.
//
// A state is named by its label, else by its code. If several have the same name, the first cell
// since their common ancestor comes before it, because there their lineages part. Else they are
// numbered.

import { alikeIn, fullName, plainNames, tailOf } from '../graph/node-names.js';
import { COMPARE_WORDS as SAY } from './compare-words.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../graph/node-names.js').Told} Told */

/**
 * @param {Model} model
 * @param {State[]} states
 * @returns {Told[]} one name for each state, all different
 */
export function comparedNames(model, states) {
    const named = namesOf(model, states);
    const full = named.map(fullName);
    return named.map((own, i) => {
        const alike = alikeIn(full, i);
        if (alike.length === 1) return own;
        const nth = alike.indexOf(i);
        const origin = originNames(
            model,
            alike.map((at) => /** @type {State} */ (states[at])),
        )?.[nth];
        const name = full[i] ?? '';
        if (!origin) return { name: `${name} (${nth + 1})`, lead: '' };
        return { name: SAY.nameFrom(name, tailOf(origin)), lead: origin.lead };
    });
}

/** @param {Model} model @param {State[]} states @returns {Told[]} */
function namesOf(model, states) {
    const told = plainNames(
        states.map((state) => ({ label: state.label, code: model.runOf(state)?.code ?? '' })),
    );
    return told.map((one, i) => {
        if (fullName(one)) return one;
        const state = states[i];
        return { name: state?.parent == null ? SAY.start : SAY.cell(state.exec_count), lead: '' };
    });
}

/**
 * The names of the first cells at which the lineages of states part; null if these do not tell the
 * states apart.
 * @param {Model} model
 * @param {State[]} states
 * @returns {Told[] | null}
 */
function originNames(model, states) {
    const lines = states.map(({ id }) => model.lineage(id));
    const shared = sharedCount(lines);
    // One of the states may be an ancestor of the others.
    const origins = lines.map((line) => line[shared] ?? line.at(-1));
    if (origins.some((origin) => !origin)) return null;
    const names = namesOf(model, /** @type {State[]} */ (origins)).map((name, i) =>
        origins[i] === states[i] && lines[i]?.length === shared
            ? { name: SAY.cell(states[i]?.exec_count ?? 0), lead: '' }
            : name,
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
