// @ts-check
// Names graph nodes that have no label. The name is a line of the code; see code-name.js. If
// siblings begin with the same code, the name is the part that differs. Pure.

import { codeName } from './code-name.js';

/** The names of siblings omit shared leading characters if there are more than this number. */
const ALIKE = 12;
/** At most so many shared leading characters are part of the name itself, and not of its lead. */
const SHORT = 4;
const LONGEST = 120;
/**
 * The number of siblings that are compared with each other. Later siblings are compared only with
 * the first sibling, so that the cost per sibling stays constant.
 */
const COMPARED = 24;

/**
 * `from`: the index of the parent; `lead`: the text before the name in the same statement. It is
 * shown if there is room.
 * @typedef {{from: number, run: {code: string} | null, name: string, lead?: string}} Named
 */
/** @typedef {{name: string, lead: string}} Told */

/** Names nodes one by one. Adding a node may change the names of its siblings. */
export class Names {
    constructor() {
        /** Groups of siblings whose names begin with the same word. @type {Map<string, Named[]>} */
        this.alike = new Map();
    }

    /** @param {Named} node */
    add(node) {
        const code = node.run?.code ?? '';
        node.name = codeName(code);
        node.lead = '';
        if (!node.run) return;
        const key = `${node.from}\n${node.name.match(/^\W*\w{0,12}/)?.[0]}`;
        const group = this.alike.get(key);
        if (!group) {
            this.alike.set(key, [node]);
        } else if (group.length < COMPARED) {
            group.push(node);
            const told = differences(group.map(({ run }) => run?.code ?? ''));
            group.forEach((one, i) => {
                one.name = told[i]?.name || codeName(one.run?.code ?? '');
                one.lead = told[i]?.lead ?? '';
            });
        } else {
            const [, told] = differences([group[0]?.run?.code ?? '', node.run.code]);
            node.name = told?.name || node.name;
            node.lead = told?.lead ?? '';
        }
    }
}

/** The part of a name that follows its lead. @param {Pick<Named, 'name' | 'lead'>} node */
export const tailOf = ({ name, lead }) =>
    !lead ? name : name.startsWith(lead) ? name.slice(lead.length) : name.replace(/^… /, '');

/** The name of a node with the text before it. @param {Pick<Named, 'name' | 'lead'>} node */
export const fullName = (node) => (node.lead ?? '') + tailOf(node);

/**
 * The label or the code of each sibling, told apart where their codes differ.
 * @param {{label: string | null, code: string}[]} siblings
 * @returns {Told[]}
 */
export function plainNames(siblings) {
    const names = new Names();
    return siblings.map(({ label, code }) => {
        /** @type {Named & Told} */
        const node = { from: 0, run: { code }, name: '', lead: '' };
        names.add(node);
        return label === null ? node : { name: label, lead: '' };
    });
}

/** The indexes of the names that equal a name. @param {string[]} names @param {number} i */
export const alikeIn = (names, i) => names.flatMap((one, at) => (one === names[i] ? [at] : []));

/**
 * Names that tell siblings apart: their labels, else their codes, else their numbers.
 * @param {{label: string | null, code: string}[]} siblings
 */
export const siblingNames = (siblings) => numbered(plainNames(siblings));

/** Adds numbers to names that are equal. @param {Told[]} told */
export function numbered(told) {
    const full = told.map(fullName);
    return told.map(({ name, lead }, i) => {
        const alike = alikeIn(full, i);
        return { name: alike.length === 1 ? name : `${name} (${alike.indexOf(i) + 1})`, lead };
    });
}

/**
 * @param {string[]} codes
 * @returns {Told[]} for each code, the text that differs from the others; '' if there is none
 */
function differences(codes) {
    /** @type {Told[]} */
    const told = codes.map(() => NOTHING);
    tell(
        codes.map(linesOf),
        codes.map((_, i) => i),
        0,
        told,
    );
    return told;
}

/** The lines that can name a cell: its imports only if it has nothing else. @param {string} code */
function linesOf(code) {
    const lines = code.split('\n').flatMap((line) => line.trim() || []);
    const others = lines.filter((line) => !/^(import|from)\s/.test(line));
    return others.length > 0 ? others : lines;
}

const NOTHING = Object.freeze({ name: '', lead: '' });

/**
 * Names siblings by the first line in which they differ. Siblings that also share that line are
 * named by a later line.
 * @param {string[][]} all the lines of each sibling
 * @param {number[]} some the indexes of the siblings to name
 * @param {number} from the first line to compare
 * @param {Told[]} told receives the names
 */
function tell(all, some, from, told) {
    const most = Math.max(...some.map((i) => all[i]?.length ?? 0));
    for (let at = from; at < most; at += 1) {
        const own = (/** @type {number} */ i) => all[i]?.[at] ?? '';
        const lines = new Set(some.map(own));
        if (lines.size === 1) continue;
        for (const i of some) told[i] = toldBy(own(i), sharedWith(own(i), lines));
        for (const line of lines) {
            const alike = some.filter((i) => own(i) === line);
            if (alike.length > 1) tell(all, alike, at + 1, told);
        }
        return;
    }
}

/**
 * @param {string} line
 * @param {number} same the number of leading characters that the line shares with its siblings
 * @returns {Told}
 */
function toldBy(line, same) {
    const begun = line.slice(0, same);
    if (same <= ALIKE) return { name: line.slice(0, LONGEST), lead: same > SHORT ? begun : '' };
    return {
        name: `… ${line.slice(same)}`.slice(0, LONGEST),
        lead: begun
            .slice(begun.lastIndexOf(';') + 1)
            .trimStart()
            .slice(-LONGEST),
    };
}

/**
 * The number of leading characters that a line shares with the most similar of other lines, reduced
 * so that the rest begins with a whole statement, argument or word; with a part of a word, if words
 * that long differ only there.
 * @param {string} own
 * @param {Set<string>} lines
 */
function sharedWith(own, lines) {
    let most = 0;
    for (const line of lines) {
        let same = 0;
        while (same < own.length && line[same] === own[same]) same += 1;
        if (line !== own) most = Math.max(most, same);
    }
    const begun = own.slice(0, most);
    const whole = (begun.match(/^.*[;,(]\s*/) ?? begun.match(/^.*?(?=[\w.]*$)/))?.[0].length ?? 0;
    return whole > ALIKE ? whole : Math.max(whole, begun.match(/^.*[\w.]*[_.]/)?.[0].length ?? 0);
}
