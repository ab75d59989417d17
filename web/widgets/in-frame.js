// @ts-check
// The widgets of one output, inside its sandboxed frame (frame.html).
//
// The page sends this file and vendor/widgets.js as text, because the frame has no network. So this
// module imports nothing. The page sends states of models and messages; the widgets' code
// sends messages to the page. The page trusts nothing in this frame.

/** @typedef {{path: (string | number)[], data: string}} WidgetBuffer */
/**
 * @typedef {{state: Record<string, any>, buffers?: WidgetBuffer[]}} ModelState A model's whole
 *   state.
 */

const OUTPUT = '@jupyter-widgets/output';
/** The kinds of data that an Output widget shows, richest first. */
const KINDS = [
    'application/vnd.jupyter.widget-view+json',
    'text/html',
    'image/svg+xml',
    'image/png',
    'image/jpeg',
    'image/gif',
    'image/webp',
    'text/markdown',
    'text/latex',
    'text/plain',
];

/** @param {string} data base64 */
function viewOf(data) {
    const text = atob(data);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i += 1) bytes[i] = text.charCodeAt(i);
    return new DataView(bytes.buffer);
}

/** @param {ArrayBuffer | ArrayBufferView} buffer */
function base64Of(buffer) {
    const bytes = ArrayBuffer.isView(buffer)
        ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength)
        : new Uint8Array(buffer);
    let text = '';
    for (let i = 0; i < bytes.length; i += 8192) text += String.fromCharCode(...bytes.subarray(i, i + 8192));
    return btoa(text);
}

/** @param {any} data @param {string[]} encoded @returns {WidgetBuffer[]} */
const parts = (data, encoded) => encoded.map((one, i) => ({ path: data.buffer_paths?.[i] ?? [], data: one }));

/** Text without ANSI codes, as a terminal shows it. @param {string} text */
const plain = (text) =>
    text
        .replaceAll(/\u001b\[[\d;]*[A-Za-z]/g, '')
        .replaceAll(/^.*\r(?!\n|$)/gm, '')
        .replaceAll(/\r$/gm, '');

/** @param {unknown} text nbformat allows a list of lines */
const joined = (text) => (Array.isArray(text) ? text.join('') : String(text));

/** The models and views of Output widgets. @param {any} base @param {any} run runs HTML */
function outputWidgets(base, run) {
    class OutputModel extends base.DOMWidgetModel {
        defaults() {
            return {
                ...super.defaults(),
                _model_name: 'OutputModel',
                _view_name: 'OutputView',
                _model_module: OUTPUT,
                _view_module: OUTPUT,
                msg_id: '',
                outputs: [],
            };
        }
    }

    class OutputView extends base.DOMWidgetView {
        /** The shown items as JSON, with their elements. @type {{json: string, element: any}[]} */
        shown = [];

        render() {
            super.render();
            this.el.classList.add('widget-output');
            this.listenTo(this.model, 'change:outputs', () => this.paint());
            this.paint();
        }

        /** Replaces the elements of items that changed. */
        paint() {
            const items = this.model.get('outputs') ?? [];
            while (this.shown.length > items.length) this.shown.pop()?.element.remove();
            items.forEach((/** @type {any} */ item, /** @type {number} */ i) => {
                const json = JSON.stringify(item);
                const old = this.shown[i];
                if (old?.json === json) return;
                const element = this.element(item);
                if (old) old.element.replaceWith(element);
                else this.el.append(element);
                this.shown[i] = { json, element };
            });
        }

        /** @param {any} item */
        element(item) {
            const element = document.createElement('div');
            const text = (/** @type {string} */ content, /** @type {string} */ name) => {
                const pre = document.createElement('pre');
                pre.className = name;
                pre.textContent = plain(content);
                element.append(pre);
            };
            if (item.output_type === 'stream') text(joined(item.text), `widget-${item.name}`);
            else if (item.output_type === 'error')
                text((item.traceback ?? []).join('\n') || `${item.ename}: ${item.evalue}`, 'widget-stderr');
            else this.data(element, item.data ?? {}, text);
            return element;
        }

        /** @param {HTMLElement} element @param {Record<string, any>} data @param {any} text */
        data(element, data, text) {
            const kind = KINDS.find((one) => one in data);
            if (kind === undefined) return;
            if (kind === KINDS[0]) {
                this.model.widget_manager
                    .showModel(data[kind].model_id, element)
                    .catch((/** @type {unknown} */ error) => text(String(error), 'widget-stderr'));
            } else if (kind === 'text/html') run(joined(data[kind]), element);
            else if (kind.startsWith('image/')) {
                const image = document.createElement('img');
                image.src =
                    kind === 'image/svg+xml'
                        ? `data:${kind},${encodeURIComponent(joined(data[kind]))}`
                        : `data:${kind};base64,${joined(data[kind])}`;
                element.append(image);
            } else text(joined(data[kind]), 'widget-value');
        }
    }
    return { OutputModel, OutputView };
}

/**
 * Starts the widgets of this frame.
 * @param {any} vendor vendor/widgets.js
 * @param {HTMLElement} place
 * @param {(message: any) => void} send sends to the page
 * @param {(content: string, into: HTMLElement) => Promise<void>} run shows HTML, runs its scripts
 */
export function start(vendor, place, send, run) {
    const { base, controls, ManagerBase, Widget, MessageLoop } = vendor;
    const modules = /** @type {Record<string, any>} */ ({
        '@jupyter-widgets/base': base,
        '@jupyter-widgets/controls': controls,
        [OUTPUT]: outputWidgets(base, run),
        anywidget: vendor.anywidget(base),
    });
    let isLive = false;

    class Manager extends ManagerBase {
        /** The messages that the page has not answered, by id. @type {Map<string, any>} */
        unanswered = new Map();
        /** The ends of the connections, by model. @type {Map<string, any>} */
        comms = new Map();

        /** @param {string} name @param {string} module */
        async loadClass(name, module) {
            const found = modules[module]?.[name];
            if (!found) throw new Error(`Ratoon does not have the widgets of ${module} (${name})`);
            return found;
        }

        _create_comm() {
            return Promise.reject(new Error('only code in Python makes widgets'));
        }

        /** @param {string} id */
        comm(id) {
            const manager = this;
            const comm = {
                comm_id: id,
                target_name: 'jupyter.widget',
                /** @type {any} */
                heard: null,
                on_msg(/** @type {any} */ heard) {
                    comm.heard = heard;
                },
                on_close() {},
                open: () => '',
                close: () => '',
                send(
                    /** @type {any} */ data,
                    /** @type {any} */ callbacks,
                    /** @type {any} */ _metadata,
                    /** @type {any[] | undefined} */ buffers = [],
                ) {
                    return manager.send(id, data, callbacks, buffers);
                },
            };
            this.comms.set(id, comm);
            return comm;
        }

        /** @param {string} model @param {any} data @param {any} callbacks @param {any[]} buffers */
        send(model, data, callbacks, buffers) {
            const id = base.uuid();
            this.unanswered.set(id, callbacks);
            const encoded = buffers.map(base64Of);
            const message =
                data.method === 'update'
                    ? { method: 'update', model, state: data.state, buffers: parts(data, encoded), echo: id }
                    : { method: 'custom', model, content: data.content ?? null, buffers: encoded };
            if (isLive && (data.method === 'update' || data.method === 'custom')) send({ id, message });
            else setTimeout(() => this.answered(id));
            return id;
        }

        /** The code of the widget has run. @param {string} id */
        answered(id) {
            const callbacks = this.unanswered.get(id);
            this.unanswered.delete(id);
            callbacks?.iopub?.status?.({
                content: { execution_state: 'idle' },
                parent_header: { msg_id: id },
            });
        }

        /**
         * Makes models, or sets the states of those that exist.
         * @param {Record<string, ModelState>} models
         */
        async set(models) {
            const made = [];
            for (const [id, { state, buffers = [] }] of Object.entries(models)) {
                if (this.has_model(id)) {
                    this.update(id, state, buffers, undefined);
                    continue;
                }
                const own = structuredClone(state);
                base.put_buffers(
                    own,
                    buffers.map((one) => one.path),
                    buffers.map((one) => viewOf(one.data)),
                );
                const options = {
                    model_name: own._model_name,
                    model_module: own._model_module,
                    model_module_version: own._model_module_version,
                    model_id: id,
                    comm: this.comm(id),
                };
                made.push(this.new_model(options, own));
            }
            await Promise.allSettled(made);
        }

        /**
         * @param {string} model
         * @param {Record<string, any>} state
         * @param {WidgetBuffer[]} buffers
         * @param {string | undefined} echo
         */
        update(model, state, buffers, echo) {
            const method = echo === undefined ? 'update' : 'echo_update';
            this.comms.get(model)?.heard?.({
                content: { data: { method, state, buffer_paths: buffers.map(({ path }) => path) } },
                buffers: buffers.map(({ data }) => viewOf(data)),
                parent_header: { msg_id: echo },
            });
        }

        /** @param {any} message a message of the process */
        async message(message) {
            const { method, model, buffers = [] } = message;
            if (method === 'update') this.update(model, message.state, buffers, message.echo);
            else if (method === 'custom') {
                this.comms.get(model)?.heard?.({
                    content: { data: { method, content: message.content } },
                    buffers: buffers.map(viewOf),
                    parent_header: {},
                });
            } else if (method === 'close' && this.has_model(model)) {
                (await this.get_model(model)).close(true);
            }
        }

        /** @param {string} id @param {HTMLElement} into */
        async showModel(id, into) {
            const view = await this.create_view(await this.get_model(id));
            Widget.attach(view.luminoWidget, into);
            addEventListener('resize', () => {
                MessageLoop.postMessage(view.luminoWidget, Widget.ResizeMessage.UnknownSize);
            });
        }
    }

    const manager = new Manager();
    let last = Promise.resolve();
    /** @param {any} data */
    const hear = async (data) => {
        if (data.live !== undefined) {
            isLive = data.live;
            place.inert = !isLive;
        }
        if (data.answered !== undefined) manager.answered(data.answered);
        if (data.models) await manager.set(data.models);
        if (data.show !== undefined) {
            place.replaceChildren();
            await manager.showModel(data.show, place);
        }
        for (const message of data.messages ?? []) await manager.message(message);
    };
    return {
        /** Handles what the page sends, in order. @param {any} data */
        hear(data) {
            last = last.then(() => hear(data)).catch((error) => console.error(error));
        },
    };
}
