// @ts-check
// What the user has typed into the dialog of a sweep, and what follows from it: the command, the
// problems of the fields, and the sentence that says what will happen. Pure.

import { duration } from '../text/format.js';
import { FORM_WORDS as SAY } from './sweep-words.js';
import { readValues } from './values.js';

/** @typedef {import('../shell/protocol-types').CodeParameters} CodeParameters */
/** @typedef {import('../shell/protocol-types').SweepSpec} Spec */
/**
 * @typedef {object} Field A parameter.
 * @property {string} name
 * @property {string | null} value its present value as source; null if the cell only reads it
 * @property {string} type see `Parameter` in src/notebook/sweep.rs; '' if the cell only reads it
 */
/**
 * @typedef {object} Form The texts that the fields contain.
 * @property {Record<string, string>} values by the name of the parameter; '' keeps its value
 * @property {string[]} reads the names that the cell only reads and the user has added
 * @property {string} metric
 * @property {'max' | 'min'} goal
 * @property {string} parallel
 * @property {string} keep
 * @property {string} label
 * @property {'here' | 'workers' | 'both'} where
 * @property {'all' | 'random' | 'optuna'} sampler
 * @property {string} trials
 * @property {string} seed
 * @property {string} stopRows
 * @property {string} stopSeconds
 * @property {string} stopTarget
 * @property {string} timeout
 * @property {string} rungCode
 * @property {string} rungCount
 * @property {string} rungFactor
 */
/** @typedef {Exclude<keyof Form, 'values' | 'reads'> | `value ${string}`} FieldKey */
/**
 * @typedef {object} Plan
 * @property {Omit<Spec, 'at' | 'code'> | null} spec null if a field has a problem
 * @property {Map<string, string>} problems by `FieldKey`: one sentence each
 * @property {number} rows
 * @property {string} sentence what will happen; '' if that is not known yet
 */

/** The most rows of a sweep; see MAX_ROWS in src/notebook/sweep.rs. */
export const MOST_ROWS = 10_000;

/** @type {Readonly<Form>} */
export const EMPTY = Object.freeze({
    values: {},
    reads: [],
    metric: '',
    goal: 'max',
    parallel: '',
    keep: '',
    where: 'here',
    label: '',
    sampler: 'all',
    trials: '20',
    seed: '0',
    stopRows: '',
    stopSeconds: '',
    stopTarget: '',
    timeout: '',
    rungCode: '',
    rungCount: '1',
    rungFactor: '3',
});

/** @param {string} name @returns {FieldKey} */
export const valueKey = (name) => `value ${name}`;

/**
 * The parameters that the dialog shows: those that the cell assigns, and those that it reads and
 * the user has added.
 * @param {CodeParameters} found
 * @param {Form} form
 * @returns {Field[]}
 */
export const fieldsOf = (found, { reads }) => [
    ...found.parameters.map(({ name, value, type }) => ({ name, value, type })),
    ...reads.filter((name) => found.reads.includes(name)).map((name) => ({ name, value: null, type: '' })),
];

/**
 * An example of values for a parameter.
 * @param {Field} field
 * @param {Form['sampler']} sampler
 */
export function exampleFor({ value, type }, sampler) {
    const isDrawn = sampler !== 'all';
    if (type === 'bool') return 'True, False';
    if (type === 'str') return SAY.exampleWords(value ?? "'a'");
    if (type === 'int') return isDrawn ? '1..10' : '1..5';
    if (type === 'float') return isDrawn ? '0.001..1 log' : '0.01, 0.1, 1';
    if (type === 'tuple') return '(64,), (64, 32)';
    return SAY.exampleAny;
}

/**
 * @param {Field[]} fields
 * @param {Form} form
 * @param {{cell: string, lastMs: number | null}} known `cell`: what to call the cell; `lastMs`: how
 *   long it ran the last time
 * @returns {Plan}
 */
export function planOf(fields, form, known) {
    /** @type {Map<string, string>} */
    const problems = new Map();
    const isDrawn = form.sampler !== 'all';
    const swept = fields.flatMap((field) => {
        const text = form.values[field.name] ?? '';
        if (!text.trim()) return [];
        const read = readValues(text, { areWords: field.type === 'str', mayBeOpen: isDrawn });
        if (read.problem !== null) problems.set(valueKey(field.name), read.problem);
        return read.values ? [{ name: field.name, values: read.values, span: read.span }] : [];
    });
    /** @type {(key: Exclude<FieldKey, `value ${string}`>, least: number) => number | null} */
    const whole = (key, least) => {
        const text = String(form[key]).trim();
        if (!text) return null;
        const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
        if (!(number >= least)) problems.set(key, SAY.notWhole(least));
        return number;
    };
    /** @type {(key: Exclude<FieldKey, `value ${string}`>, isAny?: boolean) => number | null} */
    const number = (key, isAny = false) => {
        const text = String(form[key]).trim();
        if (!text) return null;
        const value = Number(text.replace('−', '-'));
        if (!Number.isFinite(value) || (!isAny && value <= 0))
            problems.set(key, isAny ? SAY.notNumber : SAY.notSeconds);
        return value;
    };
    const metric = form.metric.trim();
    const parallel = whole('parallel', 1);
    const keep = whole('keep', 1);
    const timeout = number('timeout');
    const stop = {
        trials: whole('stopRows', 1),
        seconds: number('stopSeconds'),
        target: number('stopTarget', true),
    };
    const rungCode = form.rungCode.trim() ? form.rungCode : '';
    const [rungCount, rungFactor] = rungCode ? [whole('rungCount', 1), whole('rungFactor', 2)] : [null, null];
    const [trials, seed] = isDrawn ? [whole('trials', 1), whole('seed', 0)] : [null, null];
    if (isDrawn && trials === null) problems.set('trials', SAY.needsTrials);
    if (isDrawn && trials !== null && trials > MOST_ROWS) problems.set('trials', SAY.manyRows(MOST_ROWS));
    if (!metric) {
        const needs =
            form.sampler === 'optuna'
                ? SAY.optuna
                : rungCode
                  ? SAY.rungs
                  : stop.target !== null
                    ? SAY.targets
                    : keep !== null
                      ? SAY.keeps
                      : null;
        if (needs) problems.set('metric', SAY.needsMetric(needs));
    }
    const rows = isDrawn ? (trials ?? 0) : swept.reduce((all, { values }) => all * values.length, 1);
    const [first] = swept;
    if (!isDrawn && first && rows > MOST_ROWS)
        problems.set(valueKey(first.name), SAY.manyCombinations(rows, MOST_ROWS));
    if (!first || problems.size > 0) return { spec: null, problems, rows: 0, sentence: '' };
    const code = (/** @type {string} */ value) => ({ code: value });
    const given = isDrawn
        ? {
              sampler: {
                  kind: /** @type {'random' | 'optuna'} */ (form.sampler),
                  space: Object.fromEntries(
                      swept.map(({ name, values, span }) => [name, rangeOf(span) ?? values.map(code)]),
                  ),
                  trials: trials ?? 1,
                  seed: seed ?? 0,
              },
          }
        : { grid: Object.fromEntries(swept.map(({ name, values }) => [name, values.map(code)])) };
    const label = form.label.trim();
    const isStop = Object.values(stop).some((one) => one !== null);
    const spec = {
        ...given,
        ...(metric && { metric, goal: form.goal }),
        ...(parallel && { parallel }),
        ...(keep && { keep }),
        ...(timeout && { timeout }),
        ...(isStop && { stop: Object.fromEntries(Object.entries(stop).filter(([, one]) => one !== null)) }),
        ...(rungCode && { rungs: { code: rungCode, count: rungCount ?? 1, factor: rungFactor ?? 3 } }),
        ...(label && { label }),
        ...(form.where !== 'here' && { where: form.where }),
    };
    const rungs = rungCode ? SAY.continuing(bestCounts(rows, rungCount ?? 1, rungFactor ?? 3)) : '';
    const time = timeOf(Math.min(rows, stop.trials ?? rows), parallel, known.lastMs, rungCode !== '');
    const isAway = form.where !== 'here';
    const sentence = SAY.sentence(rows, known.cell, parallel, rungs, isAway ? '' : time, form.where);
    return { spec, problems, rows, sentence };
}

/**
 * The range from which a sampler draws; null if it chooses from a list.
 * @param {import('./values.js').Span | null} span
 */
function rangeOf(span) {
    if (!span || span.count !== null || span.step !== null) return null;
    const [low, high] = [Math.min(span.from, span.to), Math.max(span.from, span.to)];
    return { low, high, log: span.isLog, int: span.isInt };
}

/**
 * How many rows continue in each rung.
 * @param {number} rows
 * @param {number} count
 * @param {number} factor
 */
function bestCounts(rows, count, factor) {
    const counts = [];
    let left = rows;
    for (let rung = 0; rung < Math.min(count, 20); rung += 1) {
        left = Math.ceil(left / factor);
        counts.push(left);
    }
    return counts;
}

/**
 * How long the sweep takes, if the last run of the cell tells it.
 * @param {number} rows
 * @param {number | null} parallel
 * @param {number | null} lastMs
 * @param {boolean} isMore whether further cells run
 */
function timeOf(rows, parallel, lastMs, isMore) {
    if (lastMs === null || isMore) return '';
    if (parallel === null) return SAY.atMost(duration(rows * lastMs));
    return SAY.about(duration(Math.ceil(rows / parallel) * lastMs));
}

/** What a refusal of the server may be about, by words in it. @type {[RegExp, FieldKey][]} */
const ABOUT = [
    [/\bmetric\b/i, 'metric'],
    [/\bparallel\b/i, 'parallel'],
    [/\bkeep\b/i, 'keep'],
    [/\bworkers?\b/i, 'where'],
    [/\btimeout\b/i, 'timeout'],
    [/\bfactor\b/i, 'rungFactor'],
    [/\brungs?\b/i, 'rungCode'],
    [/\bseed\b/i, 'seed'],
    [/\btarget\b/i, 'stopTarget'],
    [/\bseconds\b/i, 'stopSeconds'],
    [/\btrials\b/i, 'trials'],
    [/\b(optuna|sampler)\b/i, 'sampler'],
    [/\blabel\b/i, 'label'],
];

/**
 * The field that a refusal of the server names; null if it names none.
 * @param {{what: string, why: string}} refusal
 * @param {Field[]} fields
 * @param {Form} form
 * @returns {FieldKey | null}
 */
export function fieldOf({ what, why }, fields, form) {
    const valued = fields.find(({ name, type }) => {
        const { values } = readValues(form.values[name] ?? '', { areWords: type === 'str' });
        return values?.some((value) => why.includes(`the value \`${value}\``));
    });
    if (valued) return valueKey(valued.name);
    for (const text of [what, why]) {
        const named = fields.find(({ name }) => isNamed(text, name));
        if (named) return valueKey(named.name);
        const about = ABOUT.find(([pattern]) => pattern.test(text));
        if (about) return about[1];
    }
    return null;
}

/** Whether a text has a name in quotes. @param {string} text @param {string} name */
const isNamed = (text, name) =>
    ['`', '“', "'", '"'].some((quote) => text.includes(`${quote}${name}`)) &&
    new RegExp(`[\`“'"]${name}[\`”'"]`, 'u').test(text);
