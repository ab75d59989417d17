// @ts-check
// Names of deleted states and failed attempts that tell them apart. Pure.

import { fullName, siblingNames } from '../graph/node-names.js';
import { firstLine } from '../text/format.js';

/**
 * The labels or code of what each deletion took away. Code that begins like other code in the list
 * is followed by the first line that differs; equal code is numbered.
 * @param {import('./trash-api.js').DeletionItem[]} items
 * @returns {string[][]} for each deletion, the names of its states and then of its attempts
 */
export function deletedNames(items) {
    const all = items.map(({ states, runs }) => [
        ...states,
        ...runs.map(({ code }) => ({ label: null, code })),
    ]);
    const told = siblingNames(all.flat()).map(fullName);
    const begins = all.flat().map(({ label, code }) => label ?? firstLine(code));
    const names = told.map((name, i) => {
        const begin = begins[i] ?? '';
        const isAlone = begins.indexOf(begin) === begins.lastIndexOf(begin);
        return isAlone || name.startsWith(begin) ? (isAlone ? begin : name) : `${begin} … ${name}`;
    });
    let at = 0;
    return all.map((some) => names.slice(at, (at += some.length)));
}
