// @ts-check
// The search of the graph. A word matches code, labels, variables and outputs. `var:NAME` matches
// only variables, `label:TEXT` only labels, and `failed` and `running` only the status. Pure.

import { searchedText } from '../outputs/output-text.js';
import { hasEnded } from '../shell/protocol.js';

/** @typedef {import('./nodes.js').Node} Node */
/** @typedef {'var' | 'label' | 'failed' | 'running' | 'any'} Kind */
/** @typedef {{kind: Kind, text: string}} Term */
/**
 * @typedef {{at: number, changes: string | null}} Hit `at`: the node's index; `changes`: the
 *   searched variable if the node's cell added or changed it, else null
 */

/**
 * The code of each run in lower case, cached because each typed letter starts a new search.
 * @type {WeakMap<object, string>}
 */
const lowered = new WeakMap();

/** @param {string} query @returns {Term[]} the terms; a node must match all of them */
export function termsOf(query) {
    return query
        .trim()
        .split(/\s+/)
        .filter(Boolean)
        .map((word) => {
            const [, kind, text = ''] = word.match(/^(var|label):(.*)$/i) ?? [];
            if (kind) return { kind: /** @type {Kind} */ (kind.toLowerCase()), text };
            const lone = word.toLowerCase();
            if (lone === 'failed' || lone === 'running') return { kind: lone, text: '' };
            return { kind: 'any', text: word };
        });
}

/**
 * The nodes that match a query, newest first. Nodes whose cell added or changed the searched
 * variable come before all other nodes, so the first hit is the last change of the variable. Those
 * in which only the outputs match come last.
 * @param {Node[]} nodes
 * @param {string} query
 * @returns {Hit[]}
 */
export function search(nodes, query) {
    const terms = termsOf(query);
    if (terms.length === 0) return [];
    /** @type {Hit[]} */
    const changing = [];
    /** @type {Hit[]} */
    const other = [];
    /** @type {Hit[]} */
    const showing = [];
    for (let at = nodes.length - 1; at >= 0; at -= 1) {
        const node = nodes[at];
        const rest = terms.filter((term) => !node || !matches(node, term));
        if (!node || !rest.every((term) => shows(node, term))) continue;
        const changes = changed(node, terms);
        (rest.length ? showing : changes === null ? other : changing).push({ at, changes });
    }
    return [...changing, ...other, ...showing];
}

/** @param {Node} node @param {Term} term */
function matches(node, { kind, text }) {
    const { state, run, sweep } = node;
    if (sweep && (kind === 'failed' || kind === 'running'))
        return kind === 'running' ? sweep.status === 'running' : sweep.tally.failed > 0;
    if (kind === 'failed') return node.isFailedLeaf || state?.partial === true;
    if (kind === 'running') return run !== null && !hasEnded(run.status);
    if (kind === 'var')
        return namesIn(node).some((name) => (text.length > 1 ? name.startsWith(text) : name === text));
    const wanted = text.toLowerCase();
    const label = (state?.label ?? '').toLowerCase();
    if (kind === 'label') return label !== '' && label.includes(wanted);
    if (sweep) return `${node.name}\n${sweep.code}`.toLowerCase().includes(wanted);
    return label.includes(wanted) || codeOf(node).includes(wanted) || namesIn(node).includes(text);
}

/** Whether the outputs of a node contain a word. @param {Node} node @param {Term} term */
const shows = ({ run, sweep }, { kind, text }) =>
    kind === 'any' && run !== null && !sweep && searchedText(run).includes(text.toLowerCase());

/**
 * The searched variable that a node's cell added or changed; null if there is none.
 * @param {Node} node
 * @param {Term[]} terms
 * @returns {string | null}
 */
function changed(node, terms) {
    const names = namesIn(node);
    const term = terms.find(({ kind, text }) => (kind === 'var' || kind === 'any') && names.includes(text));
    return (
        term?.text ??
        names.find((name) => terms.some(({ kind, text }) => kind === 'var' && name.startsWith(text))) ??
        null
    );
}

/**
 * The variables that a cell added or changed; empty if unknown.
 * @param {Node} node
 * @returns {string[]}
 */
const namesIn = ({ state }) => (state?.changes ? [...state.changes.added, ...state.changes.changed] : []);

/** @param {Node} node */
function codeOf({ run }) {
    if (!run) return '';
    const known = lowered.get(run) ?? run.code.toLowerCase();
    lowered.set(run, known);
    return known;
}
