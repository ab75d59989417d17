// @ts-check
// What the user takes: one choice for each group of variables that differ. Pure.

/** @typedef {import('../shell/protocol-types.js').MergePlan} MergePlan */
/** @typedef {import('../shell/protocol-types.js').OnConflict} OnConflict */
/** @typedef {import('../shell/protocol.js').Variable} Variable */
/** @typedef {'theirs' | 'ours' | 'rename'} Choice */
/**
 * @typedef {object} Group
 * @property {string[]} names variables that share objects, or a single one
 * @property {boolean} isConflict whether both states have changed it
 * @property {Choice | null} choice null: not decided yet
 */

/**
 * The groups of a plan with the choices to begin with: everything is taken that only the other
 * state has changed. If the user has named a variable, only its group is taken.
 * @param {MergePlan} plan
 * @param {string | null} named
 * @returns {Group[]}
 */
export function groupsOf(plan, named) {
    const conflicts = new Set(plan.conflicts.map((names) => names.join()));
    return plan.groups.map((names) => {
        const isConflict = conflicts.has(names.join());
        if (named !== null) return { names, isConflict, choice: names.includes(named) ? 'theirs' : 'ours' };
        return { names, isConflict, choice: isConflict ? null : 'theirs' };
    });
}

/**
 * The choices as the server wants them: one variable decides for its group.
 * @param {Group[]} groups
 * @returns {Record<string, OnConflict>}
 */
export const resolveOf = (groups) =>
    Object.fromEntries(
        groups.flatMap(({ names, choice }) => (names[0] && choice ? [[names[0], choice]] : [])),
    );

/** The number of groups that must still be decided. @param {Group[]} groups */
export const undecided = (groups) => groups.filter(({ choice }) => choice === null).length;

/** The number of variables that are taken or deleted. @param {Group[]} groups */
export const takenCount = (groups) =>
    groups.reduce((sum, { names, choice }) => sum + (choice && choice !== 'ours' ? names.length : 0), 0);

/**
 * @param {string} name
 * @param {Variable[] | null} variables
 * @returns {string | null} the value of a variable; null if the state does not have it
 */
export function shownValue(name, variables) {
    const found = variables?.find((one) => one.name === name);
    return found ? found.repr : null;
}
