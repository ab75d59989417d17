// @ts-check
// The plot of a sweep's metric against one parameter, as numbers: axes, ticks and points. Pure.

import { numberOf } from './sweep-rows.js';
import { shownMetric } from './sweeps.js';

/** @typedef {import('./sweep-rows.js').TableRow} TableRow */
/** @typedef {{at: number, text: string}} Tick `at`: from 0 to 1 */
/**
 * @typedef {{kind: 'linear' | 'log' | 'names', ticks: Tick[], place: (value: number) => number}}
 *   Axis
 */
/**
 * @typedef {{row: number, x: number, y: number, isBest: boolean}} Point `x` and `y`: from 0 to 1
 */
/** @typedef {{x: Axis, y: Axis, points: Point[]}} Plot */

/** A logarithmic axis needs at least this ratio between its ends. */
const LEAST_RATIO = 10;
/** A metric gets a logarithmic axis only above this ratio. */
const METRIC_RATIO = 1000;
/** The number of steps between ticks that an axis aims at. */
const STEPS = 4;
/** The room beside the outermost points, as a share of the axis. */
const MARGIN = 0.05;
/** The most names that an axis shows. */
const MOST_NAMES = 12;
/** Up to this many different values, an axis has its ticks at the values. */
const FEW_VALUES = 8;
/** The least distance between two ticks, as a share of the axis. */
const NEAR = 0.06;
/** How far the points of a category spread, as a share of its room. */
const SPREAD = 0.5;
/** The golden ratio spreads any number of points evenly. */
const GOLDEN = 0.618034;

/**
 * @param {TableRow[]} rows
 * @param {number} parameter its index
 * @returns {Plot | null} null without any metric
 */
export function plotOf(rows, parameter) {
    const some = rows.filter(({ metric }) => metric !== null);
    if (some.length === 0) return null;
    const sources = some.map(({ values }) => values[parameter] ?? '');
    const numbers = sources.map((source) => numberOf(source) ?? Number.NaN);
    const areNumbers = numbers.every((one) => Number.isFinite(one));
    const names = [...new Set(rows.map(({ values }) => values[parameter] ?? ''))];
    const x = areNumbers ? valueAxis(numbers) : nameAxis(names);
    const metrics = some.map(({ metric }) => metric ?? 0);
    const y = numberAxis(metrics, isHuge(metrics));
    /** How many points each category has so far. @type {Map<string, number>} */
    const counts = new Map();
    const beside = (/** @type {string} */ source) => {
        const count = counts.get(source) ?? 0;
        counts.set(source, count + 1);
        const isAlone = sources.indexOf(source) === sources.lastIndexOf(source);
        return isAlone ? 0 : (((count * GOLDEN + 0.5) % 1) - 0.5) * SPREAD;
    };
    const points = some.map(({ row, isBest }, i) => ({
        row,
        x: x.place(
            areNumbers ? (numbers[i] ?? 0) : names.indexOf(sources[i] ?? '') + beside(sources[i] ?? ''),
        ),
        y: y.place(metrics[i] ?? 0),
        isBest,
    }));
    return { x, y, points };
}

/**
 * Whether values are spread by ratios rather than by differences: whether the middle one is nearer
 * to the middle of a logarithmic axis.
 * @param {number[]} values
 */
export function isSpreadLog(values) {
    const sorted = [...new Set(values)].sort((a, b) => a - b);
    const [low = 0, high = 0] = [sorted[0], sorted.at(-1)];
    if (low <= 0 || high / low < LEAST_RATIO || sorted.length < 3) return false;
    const middle =
        ((sorted[Math.floor((sorted.length - 1) / 2)] ?? low) +
            (sorted[Math.ceil((sorted.length - 1) / 2)] ?? low)) /
        2;
    const linear = (middle - low) / (high - low);
    const log = Math.log(middle / low) / Math.log(high / low);
    return Math.abs(log - 0.5) < Math.abs(linear - 0.5);
}

/** @param {number[]} values */
const isHuge = (values) => {
    const low = Math.min(...values);
    return low > 0 && Math.max(...values) / low >= METRIC_RATIO;
};

/** @param {number[]} values @param {boolean} isLog @returns {Axis} */
function numberAxis(values, isLog) {
    const scale = isLog ? Math.log10 : (/** @type {number} */ n) => n;
    const scaled = values.map(scale);
    const [low, high] = [Math.min(...scaled), Math.max(...scaled)];
    // All values are equal: draw them in the middle.
    const room = (high - low || Math.abs(high) || 1) * (high > low ? MARGIN : 0.5);
    const [from, to] = [low - room, high + room];
    const share = (/** @type {number} */ n) => (n - from) / (to - from);
    const place = (/** @type {number} */ value) => share(scale(value));
    const round = isLog ? logTicks(from, to) : linearTicks(from, to);
    // A scale needs at least two labels.
    const ticks = ticksAt(round.length > 1 ? round : [Math.min(...values), Math.max(...values)], place);
    return { kind: isLog ? 'log' : 'linear', ticks, place };
}

/**
 * The axis of a parameter. If the parameter has few distinct values, the ticks are at these values.
 * @param {number[]} values
 * @returns {Axis}
 */
function valueAxis(values) {
    const axis = numberAxis(values, isSpreadLog(values));
    const few = [...new Set(values)].sort((a, b) => a - b);
    return few.length > FEW_VALUES ? axis : { ...axis, ticks: ticksAt(few, axis.place) };
}

/**
 * Ticks at values, without those too near to another.
 * @param {number[]} values in ascending order
 * @param {(value: number) => number} place
 */
function ticksAt(values, place) {
    /** @type {Tick[]} */
    const ticks = [];
    for (const value of new Set(values)) {
        const at = place(value);
        if (at - (ticks.at(-1)?.at ?? -1) >= NEAR) ticks.push({ at, text: shownMetric(value) });
    }
    return ticks;
}

/** Round numbers between two numbers. @param {number} from @param {number} to */
function linearTicks(from, to) {
    const rough = (to - from) / STEPS;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = power * ([1, 2, 5, 10].find((one) => one * power >= rough) ?? 10);
    const first = Math.ceil(from / step);
    const count = Math.floor(to / step) - first + 1;
    return Array.from({ length: Math.max(0, count) }, (_, i) => Number(((first + i) * step).toPrecision(12)));
}

/**
 * Powers of ten; with few of them, also their multiples.
 * @param {number} from
 * @param {number} to both are logarithms
 */
function logTicks(from, to) {
    const powers = [];
    const every = Math.max(1, Math.ceil((to - from) / (STEPS + 2)));
    for (let power = Math.ceil(from); power <= to; power += every) powers.push(10 ** power);
    if (powers.length > 2) return powers;
    const more = [];
    for (let power = Math.floor(from); power <= to; power += 1)
        for (const by of [1, 2, 5]) {
            const value = by * 10 ** power;
            if (Math.log10(value) >= from && Math.log10(value) <= to) more.push(value);
        }
    return more;
}

/** @param {string[]} names @returns {Axis} */
function nameAxis(names) {
    const place = (/** @type {number} */ at) => (at + 0.5) / names.length;
    const every = Math.ceil(names.length / MOST_NAMES);
    const ticks = names.flatMap((text, at) => (at % every ? [] : [{ at: place(at), text }]));
    return { kind: 'names', ticks, place };
}
