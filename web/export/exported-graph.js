// @ts-check
// The graph of an exported notebook, read from the elements of the file.

import { treeOf } from '../graph/layout.js';
import { Names } from '../graph/node-names.js';
import { diff } from '../text/diff.js';
import { EXPORT_WORDS as SAY } from './export-words.js';

/**
 * A state or a failed attempt. The fields up to `member` are those that graph/layout.js and
 * graph/node-names.js read.
 * @typedef {object} Node
 * @property {number} at
 * @property {number} from the index of the parent; -1 for the root
 * @property {number[]} children
 * @property {boolean} isFailedLeaf
 * @property {string} id
 * @property {{code: string, exec_id: string}} run
 * @property {string} name
 * @property {string} lead
 * @property {null} sweep
 * @property {null} member
 * @property {boolean} isDeleted
 * @property {boolean} isNamed whether the name is a label
 * @property {string} count the number of its cell
 */
/**
 * `rows`: the indexes of the nodes from top to bottom; `lanes`, `colours`: by index.
 * @typedef {{nodes: Node[], rows: number[], lanes: number[], colours: number[]}} Graph
 */

/**
 * @param {HTMLElement[]} elements those of the nodes, parents before their children
 * @returns {Graph}
 */
export function graphOf(elements) {
    const names = new Names();
    /** @type {Node[]} */
    const nodes = [];
    for (const [at, element] of elements.entries()) {
        const { id = '', parent = '-1', label, attempt, deleted } = element.dataset;
        const content = element instanceof HTMLTemplateElement ? element.content : element;
        const cells = [...content.children].filter((child) => child.matches('.cell'));
        const cell = cells.at(-1);
        /** @type {Node} */
        const node = {
            at,
            from: Number(parent),
            children: [],
            isFailedLeaf: attempt !== undefined,
            id,
            run: { code: cell?.querySelector('.code')?.textContent ?? '', exec_id: id },
            name: '',
            lead: '',
            sweep: null,
            member: null,
            isDeleted: deleted !== undefined,
            isNamed: label !== undefined || at === 0,
            count: cell?.querySelector('.count')?.textContent ?? '',
        };
        names.add(node);
        if (node.isNamed) [node.name, node.lead] = [label ?? SAY.start, ''];
        nodes.push(node);
        nodes[node.from]?.children.push(at);
    }
    const { order, lanes, colours } = treeOf(/** @type {any} */ (nodes));
    return { nodes, rows: order, lanes, colours };
}

/** The indexes of the nodes from the root to a node. @param {Node[]} nodes @param {number} at */
export function lineTo(nodes, at) {
    const line = [];
    for (let node = nodes[at]; node; node = nodes[node.from]) line.unshift(node.at);
    return line;
}

/** The branches beside a node, its own included. @param {Node[]} nodes @param {Node} node */
export const beside = (nodes, { at, from }) =>
    (nodes[from]?.children ?? []).filter(
        (child) => child === at || !(nodes[child]?.isFailedLeaf || nodes[child]?.isDeleted),
    );

/** The newest state below a node, or the node. @param {Node[]} nodes @param {number} at */
export function newestBelow(nodes, at) {
    const next = (/** @type {number} */ from) =>
        nodes[from]?.children.findLast((child) => !nodes[child]?.isFailedLeaf);
    let newest = at;
    for (let below = next(newest); below !== undefined; below = next(newest)) newest = below;
    return newest;
}

/**
 * Pairs the cells of two lines from where they part. Cells with the same code are a pair; of other
 * cells, those at the same place.
 * @param {Node[]} nodes
 * @param {number} a
 * @param {number} b
 * @returns {{shared: number, pairs: {a: number | null, b: number | null}[]}} `shared`: the number
 *   of cells in common
 */
export function pairsOf(nodes, a, b) {
    const [lineA, lineB] = [lineTo(nodes, a), lineTo(nodes, b)];
    let shared = 0;
    while (shared < lineA.length && lineA[shared] === lineB[shared]) shared += 1;
    const [restA, restB] = [lineA.slice(shared), lineB.slice(shared)];
    const codes = (/** @type {number[]} */ line) => line.map((at) => nodes[at]?.run.code ?? '');
    /** @type {{a: number | null, b: number | null}[]} */
    const pairs = [];
    /** The first pair of the current difference that lacks its second cell. */
    let open = 0;
    for (const step of diff(codes(restA), codes(restB))) {
        const [ofA, ofB] = [restA[step.a] ?? null, restB[step.b] ?? null];
        const pair = pairs[open];
        if (step.sign === '=') pairs.push({ a: ofA, b: ofB });
        else if (step.sign === '-') pairs.push({ a: ofA, b: null });
        else if (pair) pair.b = ofB;
        else pairs.push({ a: null, b: ofB });
        if (step.sign === '=' || (step.sign === '+' && !pair)) open = pairs.length;
        else if (step.sign === '+') open += 1;
    }
    return { shared: shared - 1, pairs };
}
