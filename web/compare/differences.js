// @ts-check
// Finds the differences between the cells, variables and outputs of two states, as lists for
// compare-view.js. Pure.

import { difference, grouped, numberOf, shortly } from '../text/number.js';
import { diff, diffLines, itemAt, likeness } from '../text/diff.js';
import { firstLine } from '../text/format.js';
import { choose } from '../outputs/mime.js';
import { plainLines } from '../text/terminal.js';
import { isImport } from '../variables/variables.js';

/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {import('../shell/protocol.js').State} State */
/** @typedef {import('../shell/protocol.js').Variable} Variable */
/** @typedef {import('../shell/protocol.js').Column} Column */
/** @typedef {import('../shell/protocol.js').Stats} Stats */
/** @typedef {Extract<import('../shell/protocol.js').Summary, {kind: 'frame'}>} Frame */
/** @typedef {import('../text/diff.js').Row} Row */
/** @typedef {import('./comparison.js').Pair} Pair */

/** The minimum share of equal lines, from 0 to 1, at which two cells count as one changed cell. */
const ALIKE = 0.35;
/** The maximum number of pairs of cells compared between two equal cells. */
const MOST_PAIRS = 2500;
/** The maximum number of lines compared in an output. */
export const MOST_LINES = 2000;

// Cells

/**
 * @typedef {{sign: '=', a: State, b: State}
 *   | {sign: '~', a: State, b: State, rows: Row[]}
 *   | {sign: '-' | '+', state: State, code: string}} CellPair `=`: equal code; `~`: changed code;
 *     `-`: only in the first lineage; `+`: only in the second lineage
 */

/**
 * Pairs the cells of two lineages below their common ancestor. `shared`: the number of cells from
 * the root to that ancestor.
 * @param {Model} model
 * @param {Pair} pair
 * @returns {{ancestor: State | null, shared: number, cells: CellPair[]}}
 */
export function compareCells(model, { a, b }) {
    const [lineA, lineB] = [model.lineage(a), model.lineage(b)];
    let common = 0;
    while (common < Math.min(lineA.length, lineB.length) && lineA[common] === lineB[common]) common += 1;
    const ancestor = lineA[common - 1] ?? null;
    // Both lineages contain the root, which is not a cell and is not counted.
    return {
        ancestor,
        shared: Math.max(0, common - 1),
        cells: align(model, lineA.slice(common), lineB.slice(common)),
    };
}

/**
 * Pairs cells in their order.
 * @param {Model} model
 * @param {State[]} a
 * @param {State[]} b
 * @returns {CellPair[]}
 */
export function align(model, a, b) {
    const code = (/** @type {State} */ state) => model.runOf(state)?.code ?? '';
    /** @type {CellPair[]} */
    const cells = [];
    /** @type {State[]} */
    let gone = [];
    /** @type {State[]} */
    let come = [];
    const flush = () => {
        cells.push(...pairUp(gone, come, code));
        [gone, come] = [[], []];
    };
    for (const { sign, a: i, b: j } of diff(a.map(code), b.map(code))) {
        if (sign === '-') gone.push(itemAt(a, i));
        else if (sign === '+') come.push(itemAt(b, j));
        else {
            flush();
            cells.push({ sign, a: itemAt(a, i), b: itemAt(b, j) });
        }
    }
    flush();
    return cells;
}

/**
 * How alike two cells are, from 0 to 1. Cells with the same first line always count as one changed
 * cell, so that the lines that differ are shown.
 * @param {string} before
 * @param {string} after
 */
function alikeness(before, after) {
    const isSame = firstLine(before) !== '' && firstLine(before) === firstLine(after);
    return Math.max(likeness(before, after), isSame ? ALIKE : 0);
}

/** @typedef {(i: number, j: number) => number} Weight */

/**
 * Pairs removed cells with added cells such that the total likeness is greatest. Keeps the order
 * of the cells.
 * @param {State[]} gone the removed cells
 * @param {State[]} come the added cells
 * @param {(state: State) => string} code
 * @returns {CellPair[]}
 */
function pairUp(gone, come, code) {
    const only = (/** @type {'-' | '+'} */ sign) => (/** @type {State} */ state) =>
        /** @type {CellPair} */ ({ sign, state, code: code(state) });
    if (!gone.length || !come.length || gone.length * come.length > MOST_PAIRS)
        return [...gone.map(only('-')), ...come.map(only('+'))];
    const weights = gone.map((one) => come.map((other) => alikeness(code(one), code(other))));
    const rows = Array.from({ length: gone.length + 1 }, () => new Float64Array(come.length + 1));
    /** The greatest total likeness of `gone` from `i` on and `come` from `j` on. @type {Weight} */
    const best = (i, j) => rows[i]?.[j] ?? 0;
    /** @type {Weight} */
    const ifPaired = (i, j) => {
        const weight = weights[i]?.[j] ?? 0;
        return weight >= ALIKE ? weight + best(i + 1, j + 1) : -1;
    };
    for (let i = gone.length - 1; i >= 0; i -= 1) {
        const row = itemAt(rows, i);
        for (let j = come.length - 1; j >= 0; j -= 1)
            row[j] = Math.max(best(i + 1, j), best(i, j + 1), ifPaired(i, j));
    }
    /** @type {CellPair[]} */
    const cells = [];
    let [i, j] = [0, 0];
    while (i < gone.length && j < come.length) {
        const [before, after] = [itemAt(gone, i), itemAt(come, j)];
        if (ifPaired(i, j) === best(i, j)) {
            cells.push({ sign: '~', a: before, b: after, rows: diffLines(code(before), code(after)) });
            [i, j] = [i + 1, j + 1];
        } else if (best(i + 1, j) >= best(i, j + 1)) {
            cells.push(only('-')(before));
            i += 1;
        } else {
            cells.push(only('+')(after));
            j += 1;
        }
    }
    return [...cells, ...gone.slice(i).map(only('-')), ...come.slice(j).map(only('+'))];
}

// Variables

/**
 * @typedef {{what: 'type' | 'size' | 'shape' | 'dtype' | 'rows' | 'columns' | 'min' | 'max' |
 *   'mean' | 'nulls' | 'bytes', before: string, after: string, difference: string,
 *   differs: boolean}} Fact
 */
/** @typedef {{sign: '-' | '+' | '~', name: string, facts: Fact[]}} ColumnChange */
/**
 * @typedef {object} Columns The differences between the columns of two frames.
 * @property {ColumnChange[]} columns the columns that differ
 * @property {number} equal the number of equal columns
 * @property {string[]} unknown the names of columns that were not compared
 * @property {number} more the number of further columns, whose names are unknown
 * @property {'unknown' | 'order' | 'index' | null} elsewhere where the frames differ if no compared
 *   column differs: `unknown` is in columns that were not compared
 */
/**
 * @typedef {{kind: 'number', before: string, after: string, difference: string}
 *   | {kind: 'lines', rows: Row[]}
 *   | {kind: 'facts', facts: Fact[]}
 *   | {kind: 'frame', facts: Fact[]} & Columns} Detail
 */
/** @typedef {{name: string, before: Variable, after: Variable, detail: Detail}} Changed */
/**
 * @typedef {{added: Variable[], removed: Variable[], changed: Changed[], equal: string[],
 *   alike: string[], imports: string[]}} Variables `alike`: variables that show no difference, but
 *   whose complete values could not be compared; `imports`: imports that one of the states lacks
 */

/**
 * @param {Variable[]} before
 * @param {Variable[]} after
 * @returns {Variables} in the order of `after`; removed variables in the order of `before`
 */
export function compareVariables(before, after) {
    const known = new Map(before.map((variable) => [variable.name, variable]));
    /** @type {Variables} */
    const found = { added: [], removed: [], changed: [], equal: [], alike: [], imports: [] };
    for (const variable of after) {
        const was = known.get(variable.name);
        known.delete(variable.name);
        if (!was && isImport(variable)) found.imports.push(variable.name);
        else if (!was) found.added.push(variable);
        else {
            const how = equality(was, variable);
            if (how === 'differs')
                found.changed.push({
                    name: variable.name,
                    before: was,
                    after: variable,
                    detail: detailOf(was, variable),
                });
            else found[how].push(variable.name);
        }
    }
    for (const variable of known.values())
        if (isImport(variable)) found.imports.push(variable.name);
        else found.removed.push(variable);
    return found;
}

/**
 * Compares two variables by their fingerprints. Equal fingerprints of a sample do not prove equal
 * values. Without fingerprints, compares the representations, sizes and summaries.
 * @param {Variable} before
 * @param {Variable} after
 * @returns {'equal' | 'alike' | 'differs'}
 */
export function equality(before, after) {
    if (before.type !== after.type) return 'differs';
    if (before.fingerprint != null && after.fingerprint != null) {
        if (before.fingerprint !== after.fingerprint) return 'differs';
        return before.sampled || after.sampled ? 'alike' : 'equal';
    }
    const seen = (/** @type {Variable} */ { repr, size }) =>
        JSON.stringify([withoutPlace(repr), size ?? null]);
    if (seen(before) !== seen(after) || summariesDiffer(before.summary, after.summary)) return 'differs';
    return isWhole(before) ? 'equal' : 'alike';
}

/** @param {Variable['summary']} from @param {Variable['summary']} to */
function summariesDiffer(from, to) {
    if (from?.kind === 'frame' && to?.kind === 'frame') {
        const { columns, elsewhere } = compareColumns(from, to);
        return from.rows !== to.rows || columns.length > 0 || elsewhere === 'order';
    }
    if (from?.kind === 'array' && to?.kind === 'array')
        return from.dtype !== to.dtype || String(from.shape) !== String(to.shape) || statsDiffer(from, to);
    return from?.kind !== to?.kind;
}

/**
 * Whether a statistic differs that both summaries contain. A summary omits statistics that took too
 * long to compute.
 * @param {Stats} from
 * @param {Stats} to
 */
const statsDiffer = (from, to) => statsOf(from, to).some(([, a, b]) => a != null && b != null && a !== b);

/**
 * Removes memory addresses from a representation, because they are not part of the value.
 * @param {string} repr
 */
const withoutPlace = (repr) => repr.replaceAll(/\bat 0x[0-9a-f]+/gi, 'at …');

/**
 * Whether the representation shows the complete value, as for numbers and short strings.
 * @param {Variable} variable
 */
const isWhole = ({ type, repr }) =>
    ['int', 'float', 'complex', 'bool', 'NoneType', 'module'].includes(type) ||
    (type === 'str' && repr.length < 80 && !/(\.\.\.|…)/.test(repr));

/** @param {Variable} before @param {Variable} after @returns {Detail} */
function detailOf(before, after) {
    const [from, to] = [before.summary, after.summary];
    if (from?.kind === 'frame' && to?.kind === 'frame') {
        const facts = factsOf([
            ['rows', from.rows, to.rows],
            ['columns', from.columns.length + from.more, to.columns.length + to.more],
            ['bytes', before.bytes, after.bytes],
        ]);
        return { kind: 'frame', facts, ...compareColumns(from, to) };
    }
    if (from?.kind === 'array' && to?.kind === 'array') {
        const shape = (/** @type {number[]} */ sides) =>
            `(${sides.join(', ')}${sides.length === 1 ? ',' : ''})`;
        return {
            kind: 'facts',
            facts: factsOf([
                ['shape', shape(from.shape), shape(to.shape)],
                ['dtype', from.dtype, to.dtype],
                ...statsOf(from, to),
                ['bytes', before.bytes, after.bytes],
            ]),
        };
    }
    const [was, is] = [numberOf(before), numberOf(after)];
    if (was !== null && is !== null)
        return { kind: 'number', before: grouped(was), after: grouped(is), difference: difference(was, is) };
    return { kind: 'lines', rows: diffLines(valueText(before), valueText(after)) };
}

/** @param {Stats} from @param {Stats} to @returns {[Fact['what'], any, any][]} */
const statsOf = (from, to) => [
    ['min', from.min, to.min],
    ['max', from.max, to.max],
    ['mean', from.mean, to.mean],
    ['nulls', from.nulls, to.nulls],
];

/**
 * Formats a fact. Rounds numbers, so two numbers that differ only slightly give the same text.
 * @param {string | number | null | undefined} fact
 */
const reads = (fact) => String(typeof fact === 'number' ? shortly(fact) : (fact ?? ''));

/**
 * Converts facts to text. Each fact has a name, the value before and the value after. Omits facts
 * that have neither value.
 * @param {[Fact['what'], string | number | null | undefined, string | number | null | undefined][]}
 *   all
 * @returns {Fact[]}
 */
function factsOf(all) {
    // Sizes in bytes stay exact here. variable-differences.js formats them.
    const told = (/** @type {Fact['what']} */ what, /** @type {any} */ fact) =>
        what === 'bytes' ? String(fact ?? '') : reads(fact);
    return all
        .filter(([, before, after]) => before != null || after != null)
        .map(([what, before, after]) => ({
            what,
            before: told(what, before),
            after: told(what, after),
            differs: reads(before) !== reads(after),
            difference:
                typeof before === 'number' &&
                typeof after === 'number' &&
                reads(before) !== reads(after) &&
                what !== 'bytes'
                    ? difference(before, after)
                    : '',
        }));
}

/** @param {Frame} from @param {Frame} to @returns {Columns} */
function compareColumns(from, to) {
    const [before, after] = [byName(from.columns), byName(to.columns)];
    /** @type {ColumnChange[]} */
    const columns = [];
    /** @type {string[]} */
    const unknown = [];
    for (const [key, column] of after) {
        const was = before.get(key);
        const how = was ? columnEquality(was, column, from.rows === to.rows) : 'differs';
        if (how === 'differs')
            columns.push({ sign: was ? '~' : '+', name: column.name, facts: columnFacts(was, column) });
        else if (how === 'unknown') unknown.push(column.name);
    }
    const equal = after.size - columns.length - unknown.length;
    for (const [key, column] of before)
        if (!after.has(key))
            columns.push({ sign: '-', name: column.name, facts: columnFacts(column, undefined) });
    const more = Math.max(from.more, to.more);
    const isReordered = String([...before.keys()]) !== String([...after.keys()]);
    const elsewhere =
        columns.length > 0 ? null : isReordered ? 'order' : unknown.length + more > 0 ? 'unknown' : 'index';
    return { columns, equal, unknown, more, elsewhere };
}

/**
 * The columns by name. If columns share a name, the second and later ones get a number as a suffix.
 * @param {Column[]} columns
 * @returns {Map<string, Column>}
 */
function byName(columns) {
    /** @type {Map<string, Column>} */
    const all = new Map();
    for (const column of columns) {
        let key = column.name;
        for (let n = 2; all.has(key); n += 1) key = `${column.name} ${n}`;
        all.set(key, column);
    }
    return all;
}

/**
 * @param {Column} a
 * @param {Column} b
 * @param {boolean} areAsLong
 * @returns {'equal' | 'differs' | 'unknown'}
 */
function columnEquality(a, b, areAsLong) {
    // In wide frames, sampling starts at fewer rows. So one of two equal columns may be sampled and
    // the other not, and then their fingerprints differ.
    const areComparable =
        a.fingerprint !== null && b.fingerprint !== null && Boolean(a.sampled) === Boolean(b.sampled);
    if (areComparable && a.fingerprint === b.fingerprint && a.dtype === b.dtype && !a.sampled) return 'equal';
    return (areComparable && a.fingerprint !== b.fingerprint) ||
        !areAsLong ||
        a.dtype !== b.dtype ||
        statsDiffer(a, b)
        ? 'differs'
        : 'unknown';
}

/** @param {Column | undefined} from @param {Column | undefined} to */
const columnFacts = (from, to) =>
    factsOf([['dtype', from?.dtype, to?.dtype], ...statsOf(from ?? {}, to ?? {})]);

/**
 * The text of a variable for a diff: the unescaped content of a string with several lines,
 * otherwise the representation.
 * @param {Variable} variable
 */
export function valueText({ type, repr }) {
    const quote = repr[0];
    if (type !== 'str' || (quote !== "'" && quote !== '"')) return withoutPlace(repr);
    const inner = repr.endsWith(quote) && repr.length > 1 ? repr.slice(1, -1) : repr.slice(1);
    if (!/\\n/.test(inner)) return repr;
    return inner.replaceAll(
        /\\(n|t|r|\\|'|")/g,
        (_, sign) => ({ n: '\n', t: '\t', r: '\r' })[/** @type {string} */ (sign)] ?? sign,
    );
}

// Outputs

/**
 * @typedef {object} OutputPair The outputs of two cells.
 * @property {State} a
 * @property {State} b
 * @property {Run | undefined} runA
 * @property {Run | undefined} runB
 * @property {boolean} isTip whether `a` and `b` are the two compared states
 * @property {boolean} isSame
 * @property {Row[] | null} rows the diff, if both outputs are only text and the texts differ
 * @property {boolean} isCut whether only the first `MOST_LINES` lines were compared
 */

/**
 * Compares the outputs of paired cells, and always the outputs of the two compared states. Omits
 * other pairs with equal outputs.
 * @param {Model} model
 * @param {Pair} pair
 * @param {CellPair[]} cells
 * @returns {OutputPair[]}
 */
export function compareOutputs(model, pair, cells) {
    /** @type {OutputPair[]} */
    const pairs = [];
    for (const cell of cells) {
        if (cell.sign !== '~' && cell.sign !== '=') continue;
        const one = outputPair(model, cell.a, cell.b, pair);
        if (one.isTip || (!one.isSame && (one.runA?.outputs.length || one.runB?.outputs.length)))
            pairs.push(one);
    }
    const [a, b] = [model.states.get(pair.a), model.states.get(pair.b)];
    if (a && b && !pairs.some(({ isTip }) => isTip)) pairs.push(outputPair(model, a, b, pair));
    return pairs;
}

/**
 * @param {Model} model
 * @param {State} a
 * @param {State} b
 * @param {Pair} pair
 * @returns {OutputPair}
 */
function outputPair(model, a, b, pair) {
    const [runA, runB] = [model.runOf(a), model.runOf(b)];
    const isSame = shownBy(runA) === shownBy(runB);
    const [before, after] = isSame ? [null, null] : [outputText(runA), outputText(runB)];
    const hasText = before !== null && after !== null && (before.length > 0 || after.length > 0);
    const cut = (/** @type {string[]} */ lines) => lines.slice(0, MOST_LINES).join('\n');
    return {
        a,
        b,
        runA,
        runB,
        isTip: a.id === pair.a && b.id === pair.b,
        isSame,
        rows: hasText ? diffLines(cut(before), cut(after)) : null,
        isCut: hasText && Math.max(before.length, after.length) > MOST_LINES,
    };
}

/**
 * The outputs of a run as one string. Equal outputs give equal strings.
 * @param {Run | undefined} run
 */
export function shownBy(run) {
    return JSON.stringify(
        (run?.outputs ?? []).map((item) => {
            if (item.output_type === 'stream') return [item.name, item.pieces.join('')];
            if (item.output_type === 'error') return [item.ename, item.evalue];
            return item.data;
        }),
    );
}

/**
 * The outputs of a run as lines of text; null if an output is not text.
 * @param {Run | undefined} run
 * @returns {string[] | null}
 */
function outputText(run) {
    /** @type {string[]} */
    const lines = [];
    for (const item of run?.outputs ?? []) {
        if (item.output_type === 'error') return null;
        const shown =
            item.output_type === 'stream' ? { how: 'text', data: item.pieces.join('') } : choose(item.data);
        if (shown.how !== 'text') return null;
        lines.push(...plainLines(shown.data));
        if (lines.at(-1) === '') lines.pop();
    }
    return lines;
}
