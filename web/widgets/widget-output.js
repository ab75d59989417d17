// @ts-check
// A widget among the outputs: a frame with its view, and a sentence if it is not live.
//
// The frame gets the models that the view needs, and the messages of the process. It sends messages
// for the process, which this module checks and limits. Nothing else can be done from the frame.

import { Component, html } from '../vendor/preact.js';
import { Frame } from '../outputs/frame.js';
import { OUTPUT_WORDS } from '../outputs/output-words.js';
import { isClosed, isSameLook, looks, modelsOf, references, runsOfLook, target } from './models.js';
import { widgetScripts } from './widget-scripts.js';

/** @typedef {import('./models.js').Look} Look */
/** @typedef {import('../shell/protocol.js').Event} Event */
/** @typedef {import('../shell/protocol-types').WidgetMessage} WidgetMessage */
/**
 * @typedef {{page: import('../notebook/page.js').Page, run: import('../shell/model.js').Run,
 *   modelId: string, id: string, fallback: () => any}} Props `modelId`: the model whose view is
 *   shown; `id`: the storage key of the height; `fallback`: renders the text of the output
 */

/** The most messages of one widget that the server handles at a time; others wait. */
const MOST_SENT = 8;
/** The most messages that wait. */
const MOST_WAITING = 200;
/** The longest message, in characters of JSON. The server takes messages of up to 1 MiB. */
const LONGEST = 1_000_000;
/** After this time, in milliseconds, the page says that the code of a widget runs. */
const BUSY_MS = 700;
/** The events that can change how widgets look, or whether they are live. */
const TURNS = [
    'run_added',
    'run_started',
    'run_ended',
    'state_added',
    'state_changed',
    'removed',
    'restored',
    'reset',
];

/** @extends {Component<Props, {why: import('./models.js').WhyNot | null, isBusy: boolean}>} */
export class WidgetOutput extends Component {
    /** @type {{why: import('./models.js').WhyNot | null, isBusy: boolean}} */
    state = { why: this.#why(), isBusy: false };
    /** Sends to the frame; null while there is none. @type {((message: any) => void) | null} */
    post = null;
    /** The models that the frame has, with their state in the frame. @type {Map<string, Look>} */
    inFrame = new Map();
    /** Whether the view can be shown: its model is known. */
    isShown = this.#models().has(this.props.modelId);
    /** @type {{id: string, message: any}[]} */
    waiting = [];
    /** The ids of messages that the server has not answered. @type {Set<string>} */
    sent = new Set();
    /**
     * The state at which the server has refused a message: its process does not have the widget.
     * @type {string | null}
     */
    goneAt = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    timer = undefined;

    componentDidMount() {
        this.props.page.widgets.add(this);
    }

    componentWillUnmount() {
        this.props.page.widgets.delete(this);
        clearTimeout(this.timer);
    }

    /** @param {Props} next @param {{why: any, isBusy: boolean}} state */
    shouldComponentUpdate(next, state) {
        return (
            state.why !== this.state.why ||
            state.isBusy !== this.state.isBusy ||
            next.modelId !== this.props.modelId ||
            next.run !== this.props.run
        );
    }

    #runs() {
        const { page, run } = this.props;
        return runsOfLook(page.model, page.here, run);
    }

    #models() {
        return looks(this.#runs());
    }

    #target() {
        const { page, run } = this.props;
        return target(page.model, page.here, run, page.mayRun);
    }

    /** @returns {import('./models.js').WhyNot | null} */
    #why() {
        const to = this.#target();
        if ('why' in to) return to.why;
        return to.state === this.goneAt ? 'gone' : null;
    }

    // The page

    /** An event was applied to the model. @param {Event} event */
    onEvent(event) {
        if (event.event === 'widgets_changed') this.#heard(event.exec_id, event.messages);
        else if (TURNS.includes(event.event)) this.onMoved();
    }

    /** The page may show another state. */
    onMoved() {
        const why = this.#why();
        if (why !== this.state.why) {
            this.post?.({ live: why === null });
            this.setState({ why });
        }
        this.#refresh();
    }

    /** @param {string} exec_id @param {WidgetMessage[]} messages */
    #heard(exec_id, messages) {
        if (!this.#runs().some((one) => one.exec_id === exec_id)) return;
        const known = messages.filter((message) => this.inFrame.has(message.model));
        // If a model is new, reset or closed, the frame gets the whole state of each changed model.
        const isWhole = !this.isShown || known.some((message) => this.#needsMore(message));
        if (isWhole) this.#refresh();
        const late = known.filter(
            (message) =>
                message.method !== 'open' && !(isWhole && message.method === 'update' && !message.echo),
        );
        if (late.length) this.post?.({ messages: late });
        for (const { method, model } of late) if (method === 'close') this.inFrame.delete(model);
        if (!isWhole) this.#note(late);
    }

    /**
     * Whether a message refers to models that the frame does not have, or makes or ends one.
     * @param {WidgetMessage} message
     */
    #needsMore(message) {
        if (message.method === 'open' || message.method === 'close') return true;
        if (message.method !== 'update') return false;
        const others = references(message.state, this.#models());
        return others.some((id) => !this.inFrame.has(id));
    }

    /** Notes that the frame got these messages. @param {WidgetMessage[]} messages */
    #note(messages) {
        const models = this.#models();
        for (const { method, model } of messages) {
            const look = models.get(model);
            if (method !== 'close' && look) this.inFrame.set(model, look);
        }
    }

    /** Sends to the frame what it does not have. */
    #refresh() {
        const models = modelsOf(this.props.modelId, this.#models());
        const isKnown = models.has(this.props.modelId);
        if (isKnown !== this.isShown) {
            this.isShown = isKnown;
            this.forceUpdate();
        }
        if (!this.post) return;
        /** @type {Record<string, Look>} */
        const changed = {};
        for (const [id, look] of models) {
            const before = this.inFrame.get(id);
            if (before && isSameLook(before, look)) continue;
            changed[id] = look;
            this.inFrame.set(id, look);
        }
        if (Object.keys(changed).length) this.post({ models: changed });
    }

    // The frame

    /** The frame is ready. @param {(message: any) => void} post */
    async greeted(post) {
        this.inFrame.clear();
        this.waiting = [];
        const scripts = await widgetScripts().catch(() => null);
        if (!scripts) return this.props.page.notify(OUTPUT_WORDS.widgetNotLoaded, true);
        this.post = (message) => post({ widgets: message });
        post({ begin: scripts });
        this.post({ live: this.state.why === null });
        this.#refresh();
        this.post({ show: this.props.modelId });
        return undefined;
    }

    /** The frame was unloaded. */
    ended() {
        this.post = null;
    }

    /** The frame sends a message for the process. @param {any} data */
    hear(data) {
        const message = checked(data?.message);
        const isId = typeof data?.id === 'string' && data.id.length <= 100;
        if (!message || !isId || !this.inFrame.has(message.model) || this.state.why !== null) return;
        if (this.waiting.length >= MOST_WAITING || JSON.stringify(message).length > LONGEST) {
            this.props.page.notify(OUTPUT_WORDS.widgetTooMuch, true);
            this.#take(message.model, data.id);
            return;
        }
        this.waiting.push({ id: data.id, message });
        this.#sendNext();
    }

    #sendNext() {
        while (this.sent.size < MOST_SENT) {
            const next = this.waiting.shift();
            if (!next) return;
            this.sent.add(next.id);
            this.timer ??= setTimeout(() => this.setState({ isBusy: true }), BUSY_MS);
            this.#send(next.id, next.message);
        }
    }

    /** @param {string} id @param {any} message */
    async #send(id, message) {
        const { page, run } = this.props;
        const to = this.#target();
        const state = 'state' in to ? to.state : page.here;
        const reply = await page.host.send({ do: 'widget', state, exec_id: run.exec_id, message });
        this.sent.delete(id);
        if (reply.kind === 'refused') {
            if (reply.code === 'conflict') this.goneAt = state;
            else page.reportRefusal(reply);
            this.#take(message.model, id);
            this.onMoved();
        } else this.post?.({ answered: id });
        this.#sendNext();
        if (this.sent.size) return;
        clearTimeout(this.timer);
        this.timer = undefined;
        if (this.state.isBusy) this.setState({ isBusy: false });
    }

    /**
     * The process did not get a message, so the model is set back.
     * @param {string} model
     * @param {string} id the message's id
     */
    #take(model, id) {
        this.inFrame.set(model, { state: {}, buffers: [] });
        this.post?.({ answered: id });
        this.#refresh();
    }

    /** @param {Props} props @param {{why: any, isBusy: boolean}} state */
    render({ page, run, id, modelId, fallback }, { why, isBusy }) {
        if (!this.isShown && isClosed(this.#runs(), modelId)) return null;
        if (!this.isShown)
            return html`<div class="output-note">${OUTPUT_WORDS.widgetText}</div> ${fallback()}`;
        return html`
            ${why && html`<div class="output-note">${OUTPUT_WORDS.widget[/** @type {'past'} */ (why)]}</div>`}
            <${Frame} content="" id=${id} host=${this} />
            ${
                isBusy &&
                html`<div class="output-note" role="status">${OUTPUT_WORDS.widgetBusy} <button
                    class="text-button" onClick=${() => page.ownRuns.stop(run.exec_id)}>${
                        OUTPUT_WORDS.widgetStop
                    }</button></div>`
            }`;
    }
}

/** The known fields of a message, or null if it is malformed. @param {any} message */
function checked(message) {
    if (typeof message?.model !== 'string') return null;
    const { method, model } = message;
    const buffers = Array.isArray(message.buffers) ? message.buffers : [];
    if (method === 'update' && typeof message.state === 'object' && message.state !== null)
        return { method, model, state: message.state, buffers, echo: String(message.echo).slice(0, 100) };
    if (method === 'custom') return { method, model, content: message.content ?? null, buffers };
    return null;
}
