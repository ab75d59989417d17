// @ts-check
// The models of widgets: how they look at a state, which of them a view needs, and whether they are
// live. Pure.
//
// Each run keeps what its cell has set in models. The look at a state is the sum over the runs of
// its lineage, so branches may show one widget with different values.

import { hasEnded, ROOT_STATE } from '../shell/protocol.js';

/** @typedef {import('../shell/protocol-types').WidgetModel} WidgetModel */
/** @typedef {import('../shell/protocol-types').WidgetMessage} WidgetMessage */
/** @typedef {import('../shell/protocol-types').WidgetBuffer} WidgetBuffer */
/** @typedef {import('../shell/model.js').Model} Model */
/** @typedef {import('../shell/model.js').Run} Run */
/** @typedef {{state: Record<string, any>, buffers: WidgetBuffer[]}} Look */
/**
 * Why widgets cannot be used. `past`: a cell has run after the state; `unloaded`: the state has no
 * process; `gone`: its process has other widgets; `failed`: the cell of the widget left no state;
 * `view`: the user may only view.
 * @typedef {'past' | 'unloaded' | 'gone' | 'failed' | 'view'} WhyNot
 */

/** The prefix of a reference to another model. */
const REFERENCE = 'IPY_MODEL_';
const LINKS = ['LinkModel', 'DirectionalLinkModel'];

/**
 * What a run has set in its models after some messages.
 * @param {Record<string, WidgetModel>} models
 * @param {WidgetMessage[]} messages
 */
export function applied(models, messages) {
    const now = { ...models };
    for (const message of messages) {
        if (message.method === 'close') now[message.model] = { state: {}, closed: true };
        else if (message.method !== 'custom') {
            const { buffers, ...part } = message;
            const before = message.method === 'open' ? undefined : now[message.model];
            now[message.model] = sum(before, { state: part.state, buffers: buffers ?? [] });
        }
    }
    return now;
}

/** @param {WidgetModel | undefined} before @param {WidgetModel} part @returns {Look} */
function sum(before, { state, buffers = [] }) {
    const key = (/** @type {WidgetBuffer} */ { path }) => String(path[0]);
    const names = new Set([...Object.keys(state), ...buffers.map(key)]);
    const kept = (before?.buffers ?? []).filter((one) => !names.has(key(one)));
    return { state: { ...before?.state, ...state }, buffers: [...kept, ...buffers] };
}

/**
 * The runs that decide how the widgets of a run look on the page: those of the lineage, and those
 * that run on its end.
 * @param {Model} model
 * @param {string} here
 * @param {Run} run
 * @returns {Run[]}
 */
export function runsOfLook(model, here, run) {
    const made = (/** @type {string} */ state) =>
        model.lineage(state).flatMap((one) => model.runOf(one) ?? []);
    const shown = made(here);
    if (!shown.includes(run)) return [...made(model.baseOf(run) ?? ROOT_STATE), run];
    return [...shown, ...model.openRuns().filter((one) => model.baseOf(one) === here)];
}

/** @param {Run[]} runs in order @returns {Map<string, Look>} */
export function looks(runs) {
    /** @type {Map<string, Look>} */
    const models = new Map();
    for (const { widgets } of runs) {
        for (const [id, part] of Object.entries(widgets ?? {})) {
            if (part.closed) models.delete(id);
            else models.set(id, sum(models.get(id), part));
        }
    }
    return models;
}

/**
 * Whether a model was closed, so that its output shows nothing.
 * @param {Run[]} runs
 * @param {string} id
 */
export const isClosed = (runs, id) => runs.some(({ widgets }) => widgets?.[id]?.closed);

/**
 * The ids of models that a value refers to.
 * @param {unknown} value
 * @param {Map<string, Look>} models
 * @returns {string[]}
 */
export function references(value, models) {
    if (typeof value === 'string') {
        const id = value.startsWith(REFERENCE) ? value.slice(REFERENCE.length) : value;
        return models.has(id) ? [id] : [];
    }
    if (typeof value !== 'object' || value === null) return [];
    return Object.values(value).flatMap((one) => references(one, models));
}

/**
 * The models that a view needs: its own, those that it refers to, and those linked with them.
 * @param {string} view
 * @param {Map<string, Look>} models
 * @returns {Map<string, Look>}
 */
export function modelsOf(view, models) {
    /** @type {Map<string, Look>} */
    const found = new Map();
    const add = (/** @type {string} */ first) => {
        const left = [first];
        for (let id = left.pop(); id !== undefined; id = left.pop()) {
            const look = models.get(id);
            if (!look || found.has(id)) continue;
            found.set(id, look);
            left.push(...references(look.state, models));
        }
    };
    add(view);
    const links = [...models].filter(([, { state }]) => LINKS.includes(state._model_name));
    for (let count = -1; count !== found.size; ) {
        count = found.size;
        for (const [id, { state }] of links)
            if (references([state.source, state.target], models).some((one) => found.has(one))) add(id);
    }
    return found;
}

/**
 * Whether two looks are equal. Unchanged values are the same objects.
 * @param {Look} a
 * @param {Look} b
 */
export function isSameLook(a, b) {
    const names = Object.keys(b.state);
    return (
        names.length === Object.keys(a.state).length &&
        names.every((name) => a.state[name] === b.state[name]) &&
        a.buffers.length === b.buffers.length &&
        a.buffers.every((buffer, i) => buffer === b.buffers[i])
    );
}

/**
 * The state to which messages of a run's widgets go, or why they cannot be sent.
 * @param {Model} model
 * @param {string} here
 * @param {Run} run
 * @param {boolean} mayRun
 * @returns {{state: string} | {why: WhyNot}}
 */
export function target(model, here, run, mayRun) {
    if (!mayRun) return { why: 'view' };
    if (!hasEnded(run.status)) return { state: model.baseOf(run) ?? ROOT_STATE };
    if (!run.state) return { why: 'failed' };
    const line = model.lineage(here);
    const since = line.slice(line.findIndex(({ id }) => id === run.state));
    const isShown = since[0]?.id === run.state;
    const state = model.states.get(isShown ? here : run.state);
    if (!state || model.childrenOf(state.id).some(({ living }) => living !== 'deleted'))
        return { why: 'past' };
    // The cells ran again, and made new widgets.
    if (isShown && since.some(({ revival }) => revival?.by === 'replay')) return { why: 'gone' };
    return state.living === 'memory' || state.living === 'freezing'
        ? { state: state.id }
        : { why: 'unloaded' };
}
