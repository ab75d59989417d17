// @ts-check
// What each node of the graph is called while it has no label: its first line, or, where siblings begin alike, what tells
// them apart. Pure.

import { firstLine } from './text/format.js';

/** From so many equal characters on, a line is shown from where it differs. */
const ALIKE = 12;
const LONGEST = 120;

/** @param {{parent: string | null, run: {code: string} | null}[]} nodes @returns {string[]} a name for each */
export function namesOf(nodes) {
    const names = nodes.map(({ run }) => firstLine(run?.code ?? ''));
    /** @type {Map<string, number[]>} */
    const alike = new Map();
    nodes.forEach(({ parent, run }, i) => {
        if (!run) return;
        const key = JSON.stringify([parent, names[i].slice(0, ALIKE)]);
        alike.set(key, [...(alike.get(key) ?? []), i]);
    });
    for (const group of alike.values()) {
        if (group.length < 2) continue;
        const told = differences(group.map((i) => nodes[i].run?.code ?? ''));
        group.forEach((i, k) => {
            names[i] = told[k] || names[i];
        });
    }
    return names;
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
