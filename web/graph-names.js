// @ts-check
// What each node of the graph is called while it has no label: its first line, or, where siblings begin alike, what tells
// them apart. Pure.

import { firstLine } from './text/format.js';

/** From so many equal characters on, a line is shown from where it differs. */
const ALIKE = 12;
const LONGEST = 120;
/** So many siblings are compared with each other; later ones with the first, so that the ten thousandth costs no more. */
const COMPARED = 24;

/** @typedef {{parent: string | null, run: {code: string} | null, name: string}} Named */

/** Names nodes one after the other. A new sibling may change what the ones before it are called. */
export class Names {
    constructor() {
        /** Siblings that begin alike. @type {Map<string, Named[]>} */
        this.alike = new Map();
    }

    /** @param {Named} node */
    add(node) {
        node.name = firstLine(node.run?.code ?? '');
        if (!node.run) return;
        const key = `${node.parent}\n${node.name.slice(0, ALIKE)}`;
        const group = this.alike.get(key);
        if (!group) {
            this.alike.set(key, [node]);
        } else if (group.length < COMPARED) {
            group.push(node);
            const told = differences(group.map(({ run }) => run?.code ?? ''));
            group.forEach((one, i) => {
                one.name = told[i] || firstLine(one.run?.code ?? '');
            });
        } else {
            node.name = differences([group[0].run?.code ?? '', node.run.code])[1] || node.name;
        }
    }
}

/** @param {Omit<Named, 'name'>[]} nodes @returns {string[]} a name for each */
export function namesOf(nodes) {
    const names = new Names();
    const named = nodes.map((node) => ({ ...node, name: '' }));
    for (const node of named) names.add(node);
    return named.map(({ name }) => name);
}

/** @param {string[]} codes @returns {string[]} of each, what the others do not have; '' where there is nothing */
function differences(codes) {
    const all = codes.map((code) => code.split('\n').map((line) => line.trim()).filter(Boolean));
    const most = Math.max(...all.map((lines) => lines.length));
    for (let at = 0; at < most; at += 1) {
        const lines = all.map((own) => own[at] ?? '');
        if (new Set(lines).size === 1) continue;
        const same = beginning(lines);
        return lines.map((line) => (same > ALIKE && line ? `… ${line.slice(same)}` : line).slice(0, LONGEST));
    }
    return codes.map(() => '');
}

/** How many characters lines have in common, up to where a statement or an argument begins, or else a word. @param {string[]} lines */
function beginning(lines) {
    let same = 0;
    while (same < lines[0].length && lines.every((line) => line[same] === lines[0][same])) same += 1;
    const begun = lines[0].slice(0, same);
    return (begun.match(/^.*[;,(]\s*/) ?? begun.match(/^.*?(?=[\w.]*$)/))?.[0].length ?? 0;
}
