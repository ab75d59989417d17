// @ts-check
// The script of an exported notebook: draws the graph beside the cells, shows the line that the
// reader chooses, and compares two lines.
//
// The file has each cell once, in the element of its node: a `<template>`, in which nothing loads
// or runs, until its line is shown. The address names what is shown: `#ID`, or `#compare=ID&ID`.

import { beside, graphOf, lineTo, newestBelow, pairsOf } from './exported-graph.js';
import { EXPORT_WORDS as SAY } from './export-words.js';
import { laneX, ROW, rowY, textLeft, widthOf } from '../graph/geometry.js';
import { fullName, tailOf } from '../graph/node-names.js';
import { diff } from '../text/diff.js';

/** @typedef {import('./exported-graph.js').Node} Node */

/** The radius of the bend where a branch leaves its line, in px. */
const BEND = 9;
/** The number of tabs shown; the graph has all branches. */
const TABS = 7;
const COMPARE = 'compare=';
const SVG = 'http://www.w3.org/2000/svg';

const main = /** @type {HTMLElement} */ (document.querySelector('main'));
const nav = /** @type {HTMLElement} */ (document.querySelector('nav'));
/** The element of each node, by index. */
const elements = /** @type {HTMLElement[]} */ ([...document.querySelectorAll('.node')]);
const { nodes, rows, lanes, colours } = graphOf(elements);
const index = new Map(nodes.map(({ id, at }) => [id, at]));
const first = elements.findIndex(({ dataset }) => dataset.here !== undefined);
/** The end of the line that is shown, or was before the comparison. */
let here = Math.max(0, first);

/**
 * @param {string} tag
 * @param {Record<string, string | null>} attributes those that are null are left out
 * @param {(Node | Element | string | null)[]} children
 * @returns {HTMLElement}
 */
function make(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes))
        if (value !== null) element.setAttribute(name, value);
    element.append(.../** @type {Element[]} */ (children.filter((child) => child !== null)));
    return element;
}

/** @param {Record<string, string>} attributes */
function makePath(attributes) {
    const path = document.createElementNS(SVG, 'path');
    for (const [name, value] of Object.entries(attributes)) path.setAttribute(name, value);
    return path;
}

/**
 * The name of a node. If room is short, what its siblings share is cut off first.
 * @param {Node} node
 */
const nameOf = (node) =>
    make(
        'span',
        { class: 'told', 'data-label': node.isNamed ? '' : null },
        node.lead ? make('span', { class: 'lead' }, node.lead) : null,
        make('span', { class: 'tail' }, tailOf(node)),
    );

/** @param {number} at */
const addressOf = (at) => `#${encodeURIComponent(nodes[at]?.id ?? '')}`;

/** @param {number} a @param {number} b */
const comparisonAddress = (a, b) => `#${COMPARE}${addressOf(a).slice(1)}&${addressOf(b).slice(1)}`;

/** @param {number} at */
const colourOf = (at) => String(colours[at] ?? 0);

// The graph

const rowOf = new Map(rows.map((at, row) => [at, row]));
/** The line to a node: down from its parent, with a bend into another lane. @param {Node} node */
function edgeTo({ at, from }) {
    const [top, y] = [rowY(rowOf.get(from) ?? 0), rowY(rowOf.get(at) ?? 0)];
    const [fromX, x] = [laneX(lanes[from] ?? 0), laneX(lanes[at] ?? 0)];
    if (x === fromX) return `M${x} ${top}V${y}`;
    return `M${fromX} ${top}V${y - BEND}Q${fromX} ${y} ${fromX + BEND} ${y}H${x}`;
}

const own = document.createElementNS(SVG, 'g');

/** Draws the graph. Returns the links of the nodes, by index. */
function drawGraph() {
    const most = Math.max(...lanes) + 1;
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('width', String(laneX(most)));
    svg.setAttribute('height', String(rows.length * ROW));
    svg.setAttribute('aria-hidden', 'true');
    for (const node of nodes)
        if (node.from >= 0) svg.append(makePath({ d: edgeTo(node), 'data-branch': colourOf(node.at) }));
    svg.append(own);
    for (const { at, isFailedLeaf } of nodes) {
        const [x, y] = [laneX(lanes[at] ?? 0), rowY(rowOf.get(at) ?? 0)];
        const d = isFailedLeaf
            ? `M${x - 4} ${y - 4}l8 8m0 -8l-8 8`
            : `M${x - 4.5} ${y}a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0`;
        svg.append(makePath({ d, class: isFailedLeaf ? 'cross' : 'dot', 'data-branch': colourOf(at) }));
    }
    const links = nodes.map((node) => {
        const note = node.isFailedLeaf ? SAY.failed : node.isDeleted ? SAY.deleted : node.count;
        const link = make(
            'a',
            { href: addressOf(node.at), class: 'row', title: fullName(node) },
            nameOf(node),
            make('span', { class: 'note' }, note),
        );
        link.style.paddingLeft = `${textLeft(lanes[node.at] ?? 0)}px`;
        link.addEventListener('click', (event) => {
            if (!event.shiftKey || node.at === here) return;
            event.preventDefault();
            location.hash = comparisonAddress(here, node.at);
        });
        return link;
    });
    const list = make('div', { class: 'rows' }, svg, ...rows.map((at) => links[at] ?? null));
    list.style.minWidth = `${widthOf(most)}px`;
    list.addEventListener('keydown', (event) => {
        const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
        const at = links.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        if (!step || at < 0) return;
        event.preventDefault();
        links[rows[(rowOf.get(at) ?? 0) + step] ?? -1]?.focus();
    });
    nav.setAttribute('aria-label', SAY.graph);
    nav.append(make('p', { class: 'hint' }, SAY.hint), list);
    return links;
}
const links = drawGraph();

/** Marks lines in the graph. @param {number[]} ends the nodes at their ends */
function mark(ends) {
    const line = new Set(ends.flatMap((at) => lineTo(nodes, at)));
    own.replaceChildren(
        ...[...line].flatMap((at) => {
            const node = nodes[at];
            return node && node.from >= 0 ? [makePath({ d: edgeTo(node), 'data-branch': colourOf(at) })] : [];
        }),
    );
    for (const [at, link] of links.entries()) {
        link.toggleAttribute('data-line', line.has(at));
        if (ends.includes(at)) link.setAttribute('aria-current', 'true');
        else link.removeAttribute('aria-current');
    }
    links[ends.at(-1) ?? 0]?.scrollIntoView({ block: 'nearest' });
}

// A line

/** The element of a node, taken out of its template. @param {number} at */
function elementOf(at) {
    const element = elements[at];
    if (!(element instanceof HTMLTemplateElement)) return element;
    const shown = make('div', { class: 'node' }, /** @type {any} */ (element.content));
    Object.assign(shown.dataset, element.dataset);
    element.replaceWith(shown);
    elements[at] = shown;
    return shown;
}

/** The tabs above a cell that is not alone. @param {Node} node */
function tabsOf(node) {
    const all = beside(nodes, node);
    if (all.length < 2) return null;
    const at = all.indexOf(node.at);
    const from = Math.max(0, Math.min(at - Math.floor(TABS / 2), all.length - TABS));
    const shown = all.slice(from, from + TABS);
    const other = all[at + 1] ?? all[at - 1] ?? node.at;
    return make(
        'p',
        { class: 'tabs', 'aria-label': SAY.branches, role: 'group', 'data-on': String(node.from) },
        ...shown.map((one) => {
            const sibling = /** @type {Node} */ (nodes[one]);
            return make(
                'a',
                {
                    href: addressOf(one === node.at ? here : newestBelow(nodes, one)),
                    'aria-current': one === node.at ? 'true' : null,
                    'data-branch': colourOf(one),
                    title: fullName(sibling),
                },
                make('i', { 'aria-hidden': 'true' }),
                nameOf(sibling),
            );
        }),
        all.length > shown.length
            ? make('span', { class: 'hint' }, SAY.more(all.length - shown.length))
            : null,
        make(
            'a',
            {
                href: comparisonAddress(newestBelow(nodes, other), here),
                class: 'compare-link',
                title: SAY.compareHint,
            },
            SAY.compare,
        ),
    );
}

/** The tabs at a fork. @param {string | undefined} on the index of the state at which it is */
const tabsAt = (on) => main.querySelector(`.tabs[data-on="${CSS.escape(on ?? '')}"]`);

/** Shows the cells from the start to a node. @param {number} at */
function showLine(at) {
    // A tab that was clicked stays where it is.
    const fork = /** @type {HTMLElement | null} */ (document.activeElement?.closest('.tabs'))?.dataset.on;
    const before = tabsAt(fork)?.getBoundingClientRect().top;
    const isHere = here === at;
    here = at;
    for (const tabs of main.querySelectorAll('.tabs')) tabs.remove();
    main.querySelector('.comparison')?.remove();
    const line = lineTo(nodes, at);
    const shown = new Set(line);
    for (const [i, element] of elements.entries())
        if (!(element instanceof HTMLTemplateElement)) element.hidden = !shown.has(i);
    for (const one of line) {
        const element = elementOf(one);
        const node = nodes[one];
        if (!element || !node) continue;
        element.hidden = false;
        element.dataset.branch = colourOf(one);
        const drafts = /** @type {HTMLElement | null} */ (element.querySelector(':scope > .drafts'));
        if (drafts) drafts.hidden = one !== at;
        const tabs = tabsOf(node);
        if (tabs) element.prepend(tabs);
    }
    mark([at]);
    const after = tabsAt(fork);
    if (after && before !== undefined) {
        scrollBy(0, after.getBoundingClientRect().top - before);
        /** @type {HTMLElement | null} */ (after.querySelector('[aria-current]'))?.focus({
            preventScroll: true,
        });
    } else if (!isHere) elements[at]?.scrollIntoView({ block: 'nearest' });
}

// Two lines

/**
 * The lines of a code; those that the other code lacks are marked.
 * @param {string} code
 * @param {Set<number>} changed
 */
const markedCode = (code, changed) =>
    make(
        'pre',
        { class: 'code', tabindex: '0' },
        ...code
            .split('\n')
            .map((line, i) => make('span', { 'data-changed': changed.has(i) ? '' : null }, `${line}\n`)),
    );

/**
 * One cell of a comparison.
 * @param {number | null} at
 * @param {Set<number>} changed the lines that the other cell lacks
 */
function sideOf(at, changed) {
    if (at === null) return make('div', { class: 'side' }, make('p', { class: 'hint' }, SAY.noCell));
    const outputs = outputsOf(at)?.cloneNode(true) ?? null;
    return make(
        'div',
        { class: 'side', 'data-branch': colourOf(at) },
        markedCode(nodes[at]?.run.code ?? '', changed),
        /** @type {any} */ (outputs),
    );
}

/** The outputs of a node's own cell. @param {number} at */
const outputsOf = (at) =>
    [...(elementOf(at)?.querySelectorAll(':scope > .cell') ?? [])].at(-1)?.querySelector('.outputs');

/** @param {Element | null | undefined} a @param {Element | null | undefined} b */
const isEqual = (a, b) => (a && b ? a.isEqualNode(b) : !a && !b);

/** Compares the lines to two nodes. @param {number} a @param {number} b */
function showComparison(a, b) {
    const { shared, pairs } = pairsOf(nodes, a, b);
    // A branch is told by the cell with which it begins.
    const head = (/** @type {number} */ at) => {
        const begin = nodes[lineTo(nodes, at)[shared + 1] ?? at];
        const names = begin?.at === at ? [nodes[at]] : [begin, nodes[at]];
        return make(
            'a',
            { href: addressOf(at), class: 'side head', 'data-branch': colourOf(at) },
            ...names.map((node) => node && nameOf(node)).map((name) => name ?? null),
        );
    };
    const back = make('a', { href: addressOf(here), class: 'compare-link' }, SAY.close);
    const view = make(
        'section',
        { class: 'comparison', 'aria-label': SAY.comparison },
        make('p', { class: 'hint' }, `${SAY.shared(shared)} · `, back),
        head(a),
        head(b),
    );
    let equal = 0;
    const tellEqual = () => {
        if (equal) view.append(make('p', { class: 'hint' }, SAY.equal(equal)));
        equal = 0;
    };
    for (const pair of pairs) {
        const codes = [pair.a, pair.b].map((at) => (at === null ? '' : (nodes[at]?.run.code ?? '')));
        const isSame =
            pair.a !== null &&
            pair.b !== null &&
            codes[0] === codes[1] &&
            isEqual(outputsOf(pair.a), outputsOf(pair.b));
        if (isSame) {
            equal += 1;
            continue;
        }
        tellEqual();
        const [lostA, newB] = [new Set(), new Set()];
        for (const step of diff((codes[0] ?? '').split('\n'), (codes[1] ?? '').split('\n'))) {
            if (step.sign === '-') lostA.add(step.a);
            if (step.sign === '+') newB.add(step.b);
        }
        view.append(sideOf(pair.a, lostA), sideOf(pair.b, newB));
    }
    tellEqual();
    for (const element of elements) element.hidden = true;
    main.querySelector('.comparison')?.remove();
    main.append(view);
    mark([a, b]);
    scrollTo(0, 0);
}

/** @param {string} text @returns {string} '' if it is malformed */
function decoded(text) {
    try {
        return decodeURIComponent(text);
    } catch {
        return '';
    }
}

/** Shows what the address names. */
function showAddress() {
    const hash = location.hash.slice(1);
    const known = (/** @type {string} */ id) => index.get(decoded(id));
    if (hash.startsWith(COMPARE)) {
        const [a, b] = hash.slice(COMPARE.length).split('&').map(known);
        if (a !== undefined && b !== undefined && a !== b) return showComparison(a, b);
    }
    return showLine(known(hash) ?? here);
}

addEventListener('hashchange', showAddress);
showAddress();
