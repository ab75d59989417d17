// The stand-in: a small server for tests and for work on the page. It speaks the protocol and
// simulates a few lines of Python. To run it by hand: node tests/browser/mock.mjs [PORT] [FIXTURE]

import { createServer } from 'node:http';
import { readFile } from 'node:fs/promises';
import { randomUUID } from 'node:crypto';
import { dirname, extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { WebSocketServer } from 'ws';
import { bundles } from './binary.mjs';
import { listen } from './listen.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const TYPES = { '.js': 'text/javascript', '.css': 'text/css', '.svg': 'image/svg+xml', '.txt': 'text/plain' };

/**
 * A style sheet with its imports inlined, as the server sends it. axe-core would request imported
 * sheets itself, and fail if the server has stopped.
 * @returns {Promise<string>}
 */
export async function wholeStyle(path) {
    let text = await readFile(join(ROOT, 'web', path), 'utf8');
    for (const [line, name, medium] of text.matchAll(/^@import url\("(.*?)"\) ?(.*?);$/gm)) {
        const inner = await wholeStyle(join(dirname(path), name));
        text = text.replace(line, () => (medium ? `@media ${medium} {\n${inner}}` : inner));
    }
    return text;
}
/** The number of rows of the data frame that the stand-in has. */
const MILLION = 1_000_000;
/** What the stand-in says was deleted. */
const DELETED = [
    {
        at: 1_700_000_000_000,
        states: [
            { id: 'gone', label: 'loaded', code: 'df = load()' },
            { id: 'gone2', label: null, code: 'df.describe()' },
        ],
        runs: [{ exec_id: 'bad', code: '1/0' }],
    },
];

const PAGE_POLICY =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; connect-src 'self'; worker-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'";
const FRAME_POLICY =
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob: data:; style-src 'unsafe-inline'; img-src data: blob:; font-src data:; connect-src 'none'; frame-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";
const PNG =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const TABLE = `<table border="1" class="dataframe"><thead><tr style="text-align: right;"><th></th><th>city</th><th>population</th><th>area</th></tr></thead><tbody>
${['Lisbon 545796 100.05', 'Porto 231800 41.42', 'Braga 193324 183.40', 'Faro 67566 202.57']
    .map(
        (row, i) =>
            `<tr><th>${i}</th>${row
                .split(' ')
                .map((v) => `<td>${v}</td>`)
                .join('')}</tr>`,
    )
    .join('')}</tbody></table><p>4 rows × 3 columns</p>`;

/**
 * Starts the stand-in. Returns the address to open, the notebook, and functions that restart or
 * stop it.
 */
export async function start(port = 0, fixture = null) {
    const notebook = new Notebook('main', fixture);
    const server = createServer((request, response) =>
        serve(request, response).catch((error) => response.writeHead(500).end(String(error))),
    );
    const sockets = new WebSocketServer({ server });
    sockets.on('connection', (socket, request) =>
        notebook.join(socket, new URL(request.url, 'http://x'), request.headers.cookie ?? ''),
    );
    const url = `http://127.0.0.1:${await listen(server, port)}/n/main?token=secret`;
    const restart = () => (notebook.restart(), sockets.clients.forEach((one) => one.terminate()));
    // Simulates the revocation of the link that the browser used.
    const endAccess = () => sockets.clients.forEach((one) => one.close(4401));
    return {
        url,
        notebook,
        restart,
        endAccess,
        stop: () => (
            sockets.clients.forEach((one) => one.terminate()),
            server.closeAllConnections(),
            new Promise((done) => server.close(done))
        ),
    };
}

/** The residency fields of a new state. */
export const KEPT = {
    forks: true,
    pinned: false,
    living: 'memory',
    checkpoint: null,
    saving: { now: 'idle' },
    revival: null,
    memory_bytes: null,
    shared_bytes: null,
    changes: null,
};

const links = new Map();
/** @type {Promise<Map<string, string>> | undefined} */
let bundled;

async function serve(request, response) {
    const url = new URL(request.url, 'http://x');
    const token = url.searchParams.get('token');
    const page = async (name, values) => {
        let html = await readFile(join(ROOT, 'templates', name), 'utf8');
        // Remove the template parts that the page does not need: comments, and the list of modules
        // to preload.
        html = html.replaceAll(/\{% for module[\s\S]*?\{% endfor %\}|\{#.*?#\}/g, '');
        for (const [key, value] of Object.entries({ base: '', assets: '/assets/dev', ...values }))
            html = html.replaceAll(`{{ ${key} }}`, value);
        response
            .writeHead(200, {
                'content-type': 'text/html; charset=utf-8',
                'content-security-policy': PAGE_POLICY,
                ...(token && { 'set-cookie': `mock=${token}; Path=/` }),
            })
            .end(html);
    };
    const say = (status, value) =>
        response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    if (url.pathname.startsWith('/api/')) {
        let body = '';
        for await (const chunk of request) body += chunk;
        // A page that is being closed sends its commands again over HTTP. The socket has received
        // them already.
        if (url.pathname.endsWith('/commands/batch')) return say(200, {});
        if (url.pathname === '/api/notebooks') return say(200, { name: JSON.parse(body).name });
        if (request.method === 'DELETE')
            return links.delete(url.pathname.split('/').at(-1)), response.writeHead(204).end();
        if (url.pathname.endsWith('/lint')) return say(200, { ruff: null, failure: null, problems: [] });
        if (url.pathname.endsWith('/trash')) return say(200, { deleted: DELETED });
        if (request.method === 'GET')
            return say(200, {
                links: [...links.values()],
                listens: { port: request.socket.localPort, is_loopback: true, reachable_as: [] },
            });
        const { scope, notebook = 'main', label = null, expires_in } = JSON.parse(body);
        const link = {
            id: randomUUID(),
            scope,
            notebook,
            label,
            created_at: Date.now(),
            expires_at: expires_in ? Date.now() + 1000 * expires_in : null,
            last_used: null,
        };
        links.set(link.id, link);
        return say(201, { ...link, token: scope, path: `/n/${notebook}?token=${scope}` });
    }
    if (url.pathname === '/frame/v1') {
        return response
            .writeHead(200, {
                'content-type': 'text/html; charset=utf-8',
                'content-security-policy': FRAME_POLICY,
            })
            .end(await readFile(join(ROOT, 'web/frame.html')));
    }
    if (url.pathname.startsWith('/assets/dev/')) {
        const path = normalize(url.pathname.slice(12));
        bundled ??= bundles();
        const read = () => (path.endsWith('.css') ? wholeStyle(path) : readFile(join(ROOT, 'web', path)));
        return response
            .writeHead(200, { 'content-type': TYPES[extname(path)] ?? 'text/plain' })
            .end((await bundled).get(path) ?? (await read()));
    }
    if (token) return page('strip_token.html', {});
    if (url.pathname === '/signin') return page('signin.html', { why: 'it has no valid token or session' });
    if (url.pathname.startsWith('/n/')) return page('notebook.html', { name: url.pathname.slice(3) });
    return response.writeHead(404).end();
}

class Notebook {
    constructor(name, fixture) {
        this.epoch = randomUUID();
        this.log = [];
        this.sockets = new Set();
        this.people = [];
        this.visitors = 0;
        this.name = name;
        this.stops = new Map();
        this.answers = new Map();
        /** The requests for completion and documentation. */
        this.questions = [];
        /** The number of answered `questions`. */
        this.answered = 0;
        /** The delay of answers to `questions`, and of replays, in milliseconds. */
        this.slowMs = 0;
        this.replayMs = 5;
        /** @type {Map<string, any>} */
        this.states = new Map();
        /** @type {Map<string, any>} */
        this.runs = new Map();
        /** @type {any[]} */
        this.drafts = [];
        this.python = { path: '/usr/bin/python3', version: '3.12.1', is_chosen: false, problem: null };
        this.empty();
        if (fixture) this.become(fixture);
    }

    become({ states, runs, drafts = [], trouble = null, variables, sweeps = [] }) {
        this.variables = variables;
        this.sweeps = sweeps;
        [this.states, this.runs, this.drafts, this.trouble] = [
            new Map(states.map((s) => [s.id, s])),
            new Map(runs.map((r) => [r.exec_id, r])),
            drafts,
            trouble,
        ];
        this.toldDrafts = new Set(drafts.map((d) => d.id));
    }

    /**
     * Simulates kill -9 and a restart: all states are on disk, and a new event log begins. The
     * caller closes the sockets.
     */
    restart() {
        for (const state of this.states.values()) if (state.parent) state.living = 'disk';
        [this.epoch, this.log] = [randomUUID(), []];
    }

    empty() {
        const root = {
            id: 'initial',
            name: 'initial',
            parent: null,
            exec_id: null,
            exec_count: 0,
            created_at: Date.now(),
            label: null,
            prose: [],
            warnings: [],
            ...KEPT,
        };
        this.trouble = null;
        this.sweeps = [];
        [this.states, this.runs, this.drafts, this.toldDrafts] = [
            new Map([['initial', root]]),
            new Map(),
            [],
            new Set(),
        ];
    }

    snapshot() {
        return {
            name: this.name,
            states: [...this.states.values()],
            runs: [...this.runs.values()],
            drafts: this.drafts,
            python: this.python,
            trouble: this.trouble,
            people: this.people,
            sweeps: this.sweeps,
        };
    }

    join(socket, url, cookie) {
        const send = (message) => socket.readyState === 1 && socket.send(JSON.stringify(message));
        const scope = cookie.match(/mock=(view|run)/)?.[1] ?? 'owner';
        send({ you: { scope } });
        const seq = Number(url.searchParams.get('seq'));
        if (url.searchParams.get('epoch') === this.epoch && seq <= this.log.length)
            this.log.slice(seq).forEach(send);
        else send({ epoch: this.epoch, seq: this.log.length, snapshot: this.snapshot() });
        this.sockets.add(send);
        this.visitors += 1;
        const person = {
            id: `v${this.visitors}`,
            number: scope === 'owner' ? 0 : this.visitors,
            scope,
        };
        socket.on('close', () => {
            this.sockets.delete(send);
            if (this.people.some(({ id }) => id === person.id))
                this.tellPeople(this.people.filter(({ id }) => id !== person.id));
        });
        socket.on('message', async (text) => {
            const { id, ...command } = JSON.parse(text);
            const reply = (await this[command.do]?.(command, person)) ?? { kind: 'done' };
            send({ reply: id, ...reply });
        });
    }

    tell(event) {
        const message = { epoch: this.epoch, seq: this.log.length + 1, ...structuredClone(event) };
        this.log.push(message);
        for (const send of this.sockets) send(message);
    }

    refuse(what, why) {
        return { kind: 'refused', code: 'conflict', what, why, how: 'try something else' };
    }

    async run({ exec_id, code, on, draft = null, instead_of, replay = false }) {
        if (this.runs.has(exec_id)) return this.refuse(`run ${exec_id}`, 'it is known');
        const under = this.states.get(on.state);
        if (under?.living === 'replay' && !replay)
            return this.refuse(`run ${exec_id}`, 'its state needs a replay');
        const run = {
            exec_id,
            on,
            code,
            status: 'queued',
            draft,
            outputs: [],
            error: null,
            prompt: null,
            started_at: null,
            duration_ms: null,
            state: null,
        };
        this.runs.set(exec_id, run);
        this.tell({ event: 'run_added', run });
        while (on.run && !['ok', 'error', 'interrupted'].includes(this.runs.get(on.run).status))
            await pause(5);
        const base = on.state ?? this.runs.get(on.run).state;
        const began = Date.now();
        if (under?.living === 'replay') await this.replay({ state: under.id });
        if (under?.living === 'disk')
            this.change(under.id, {
                living: 'memory',
                revival: { by: 'checkpoint', missing: under.checkpoint?.missing ?? [] },
            });
        if (base) {
            Object.assign(run, { on: { state: base }, status: 'running', started_at: began });
            this.tell({ event: 'run_started', exec_id, on: run.on, started_at: began });
        }
        const error = base
            ? await this.pretend(run)
            : { ename: 'RunAborted', evalue: 'the run before it left no state', traceback: [] };
        if (error) this.print(run, { output_type: 'error', ...error });
        run.status = error
            ? error.ename === 'Error' || error.ename === 'ZeroDivisionError'
                ? 'error'
                : 'interrupted'
            : 'ok';
        if (!error) run.state = this.grow(run, base, instead_of);
        Object.assign(run, {
            error,
            prompt: null,
            duration_ms: base ? Date.now() - began + Math.random() : null,
        });
        this.tell({
            event: 'run_ended',
            exec_id,
            status: run.status,
            error,
            duration_ms: run.duration_ms,
            state: run.state,
        });
        return { kind: 'ended', exec_id, status: run.status, state: run.state, state_name: run.state, error };
    }

    grow(run, parent, instead_of) {
        const id = randomUUID().replaceAll('-', '');
        const state = {
            ...this.states.get(parent),
            id,
            name: id,
            parent,
            exec_id: run.exec_id,
            exec_count: this.states.get(parent).exec_count + 1,
            created_at: Date.now(),
            label: null,
            prose: [],
            ...KEPT,
        };
        const isEdit = (d) => d.instead_of === instead_of?.state && d.source === run.code;
        if (instead_of) this.drafts = this.drafts.filter((d) => !isEdit(d));
        const at = this.drafts.findIndex((d) => d.id === run.draft && !d.instead_of);
        const hungOn = this.drafts[at]?.on ?? parent;
        let moved = [];
        if (at >= 0) {
            const { before } = this.drafts[at];
            const beside = this.drafts.filter((d) => d.on === parent && d.before === before && !d.instead_of);
            const place = beside.indexOf(this.drafts[at]);
            moved = beside.slice(place + 1);
            let from = place;
            for (; beside[from - 1]?.kind === 'markdown'; from -= 1)
                state.prose.unshift(beside[from - 1].source);
            this.drafts = this.drafts.filter((d) => !beside.slice(from, place).includes(d));
            for (const draft of beside.slice(0, from)) draft.before = id;
            this.drafts = this.drafts.filter((d) => d.id !== run.draft);
        }
        this.states.set(id, state);
        this.tell({ event: 'state_added', state });
        for (const draft of moved) Object.assign(draft, { on: id, before: null });
        if (instead_of) {
            const line = [];
            for (
                let s = this.states.get(instead_of.tip);
                s && s.id !== instead_of.state;
                s = this.states.get(s.parent)
            )
                line.unshift(s);
            for (const s of line)
                this.drafts.push({
                    id: randomUUID(),
                    on: id,
                    kind: 'code',
                    source: this.runs.get(s.exec_id).code,
                });
        }
        this.tellDrafts(id);
        this.tellDrafts(parent);
        if (hungOn !== parent) this.tellDrafts(hungOn);
        return id;
    }

    find_parameters() {
        return {
            kind: 'parameters',
            parameters: [
                { name: 'lr', value: '0.1', type: 'float', from: 5, to: 8 },
                { name: 'depth', value: '3', type: 'int', from: 17, to: 18 },
                { name: 'kind', value: "'adam'", type: 'str', from: 26, to: 32 },
            ],
            reads: ['df', 'scale'],
            obstacles: { total: 'is assigned more than once' },
            syntax_error: null,
            values: [],
            metric: null,
        };
    }

    sweep() {
        return this.refuse('start the sweep', 'the value `oops` of `kind` is no variable');
    }

    tellDrafts(on) {
        const removed = [...this.toldDrafts].filter((id) => !this.drafts.some((d) => d.id === id));
        const there = this.drafts.filter((d) => d.on === on);
        this.tell({
            event: 'drafts_changed',
            on,
            removed,
            put: there.map((draft, i) => ({ draft, after: there[i - 1]?.id ?? null })),
        });
        this.toldDrafts = new Set(this.drafts.map((d) => d.id));
    }

    print(run, output) {
        const last = run.outputs.at(-1);
        if (output.output_type === 'stream' && last?.output_type === 'stream' && last.name === output.name)
            last.text += output.text;
        else run.outputs.push(structuredClone(output));
        this.tell({ event: 'output_added', exec_id: run.exec_id, output });
    }

    async pretend(run) {
        const print = (text, name = 'stdout') => this.print(run, { output_type: 'stream', name, text });
        const show = (data) => this.print(run, { output_type: 'display_data', data, metadata: {} });
        for (const line of run.code.split('\n').map((l) => l.trim())) {
            let found;
            if (this.stops.get(run.exec_id))
                return {
                    ename: 'KeyboardInterrupt',
                    evalue: '',
                    traceback: ['\x1b[31mKeyboardInterrupt\x1b[0m'],
                };
            if ((found = line.match(/^print\(["']?(.*?)["']?\)$/))) print(`${found[1]}\n`);
            else if ((found = line.match(/^err\((.*)\)$/))) print(`${found[1]}\n`, 'stderr');
            else if ((found = line.match(/^time.sleep\(([\d.]+)\)$/)))
                for (let t = 0; t < found[1] * 1000 && !this.stops.get(run.exec_id); t += 20) await pause(20);
            else if ((found = line.match(/^ticks\((\d+)\)$/)))
                for (let i = 0; i < found[1] && !this.stops.get(run.exec_id); i += 1)
                    print(`\r${'█'.repeat(i + 1)} ${i + 1}/${found[1]}`), await pause(60);
            else if (line === '1/0')
                return {
                    ename: 'ZeroDivisionError',
                    evalue: 'division by zero',
                    traceback: [
                        '\x1b[31m---------------------------------------------------------------------------\x1b[39m',
                        '\x1b[31mZeroDivisionError\x1b[39m                         Traceback (most recent call last)',
                        "\x1b[0;32m----> 2\x1b[0m     \x1b[38;5;28;01mreturn\x1b[39;00m \x1b[38;5;124;43m'a'\x1b[39;49m\x1b[38;5;241;43m+\x1b[39;49m\x1b[43mx\x1b[49m\x1b[38;5;21;43mlen\x1b[39;49m\x1b[38;5;28;43mlen\x1b[39;49m  \x1b[38;5;21mf\x1b[39m\x1b[38;5;124mb\x1b[39m\x1b[38;5;241m+\x1b[39m\x1b[38;5;66;03m# why\x1b[39;00m",
                        '\x1b[36mCell\x1b[39m\x1b[36m \x1b[39m\x1b[32mIn[3]\x1b[39m\x1b[32m, line 1\x1b[39m\n\x1b[32m----> \x1b[39m\x1b[32m1\x1b[39m \x1b[32;43m1\x1b[39;49m\x1b[43m/\x1b[49m\x1b[32;43m0\x1b[39;49m',
                        '\x1b[31mZeroDivisionError\x1b[39m: division by zero',
                    ],
                };
            else if ((found = line.match(/^for i in range\((\d)\): print\(i\); time.sleep\(([\d.]+)\)$/)))
                for (let i = 0; i < found[1]; i += 1) print(`${i}\n`), await pause(found[2] * 1000);
            else if (line === 'for i in range(100_000): print(i)')
                for (let i = 0; i < 100_000; i += 1000)
                    print(Array.from({ length: 1000 }, (_, k) => `${i + k}\n`).join(''));
            else if ((found = line.match(/^HTML\("(.*)"\)$/)))
                show({ 'text/html': found[1], 'text/plain': '' });
            else if (line === 'df' || line === 'display(df)') show({ 'text/html': TABLE, 'text/plain': '…' });
            else if (line === 'img') show({ 'image/png': PNG, 'text/plain': '<Figure>' });
            else if (line === 'svg')
                show({
                    'image/svg+xml':
                        '<svg xmlns="http://www.w3.org/2000/svg" width="300" height="80"><rect width="300" height="80" rx="8" fill="#74c795"/></svg>',
                });
            else if (line === 'md')
                show({
                    'text/markdown':
                        '### Result\n\nA **bold** claim with `code` and <img src=x onerror="document.title=1">.',
                });
            else if ((found = line.match(/input\("(.*)"\)/)))
                print(`${found[1]}${await this.ask(run, found[1])}\n`);
            else if (/^[\d+*\s]+$/.test(line) && line)
                this.print(run, {
                    output_type: 'execute_result',
                    data: { 'text/plain': String(Function(`return ${line}`)()) },
                    metadata: {},
                    execution_count: 1,
                });
        }
        return this.stops.get(run.exec_id) ? { ename: 'KeyboardInterrupt', evalue: '', traceback: [] } : null;
    }

    ask(run, text) {
        run.prompt = { text, password: false };
        this.tell({ event: 'prompt_changed', exec_id: run.exec_id, prompt: run.prompt });
        return new Promise((done) => this.answers.set(run.exec_id, done));
    }

    answer_input({ exec_id, text }) {
        this.tell({ event: 'prompt_changed', exec_id, prompt: null });
        this.answers.get(exec_id)?.(text);
    }

    interrupt({ exec_id }) {
        this.stops.set(exec_id, true);
        this.answers.get(exec_id)?.('');
        return { kind: 'interrupted', interrupted: true };
    }

    stand({ state, name = null, ...more }, { id, number, scope }) {
        const person = { id, number, name, scope, state, ...more };
        this.tellPeople(
            this.people.some((one) => one.id === id)
                ? this.people.map((one) => (one.id === id ? person : one))
                : [...this.people, person],
        );
        return { kind: 'standing', id };
    }

    tellPeople(people) {
        this.people = people;
        this.tell({ event: 'people_changed', people });
    }

    put_draft({ draft, after, in_place, base, update }) {
        const own = this.drafts.findIndex((d) => d.id === draft.id);
        const known = this.drafts[own];
        const received = known?.received ?? [];
        const arrived = received.find((last) => last.client === update?.client)?.number ?? 0;
        // The page sent this update again, because it did not receive the answer.
        if (update?.number && update.number <= arrived) return undefined;
        if (known && base !== undefined && base !== (known.version ?? 1))
            return { ...this.refuse(`change draft ${draft.id}`, 'it has another version'), code: 'conflict' };
        if (!known && base)
            return { ...this.refuse(`find draft ${draft.id}`, 'there is none'), code: 'not_found' };
        const isSame = known?.source === draft.source && known?.kind === draft.kind;
        draft.version = known ? (known.version ?? 1) + (isSame ? 0 : 1) : 1;
        if (update) draft.received = [{ client: update.client, number: update.number }];
        if (in_place && own >= 0) this.drafts[own] = { ...draft, on: known.on, before: known.before };
        else {
            this.drafts = this.drafts.filter((d) => d.id !== draft.id);
            const at = this.drafts.findIndex((d) => d.id === after);
            this.drafts.splice(
                at >= 0
                    ? at + 1
                    : after
                      ? this.drafts.length
                      : Math.max(
                            0,
                            this.drafts.findIndex((d) => d.on === draft.on),
                        ),
                0,
                draft,
            );
        }
        this.tellDrafts(this.drafts.find((d) => d.id === draft.id).on);
        return undefined;
    }

    delete_draft({ draft: id }) {
        const draft = this.drafts.find((d) => d.id === id);
        this.drafts = this.drafts.filter((d) => d.id !== id);
        if (draft) this.tellDrafts(draft.on);
    }

    change(id, values) {
        Object.assign(this.states.get(id), values);
        this.tell({ event: 'state_changed', state: this.states.get(id) });
    }

    label({ state, label }) {
        this.change(state, { label });
    }

    put_prose({ state, prose }) {
        this.change(state, { prose });
    }

    pin({ state, pinned }) {
        this.change(state, { pinned });
    }

    async checkpoint({ state }) {
        for (const percent of [0, 40, 80]) {
            this.tell({ event: 'saving_changed', state, saving: { now: 'writing', percent } });
            await pause(5);
        }
        const checkpoint = {
            checkpoint_id: state,
            form: 'environment',
            compressed_size_bytes: 1_200_000,
            missing: [],
            is_trusted: true,
        };
        this.change(state, { checkpoint, saving: { now: 'idle' } });
        return { kind: 'checkpointed', checkpoint };
    }

    async replay({ state }) {
        const total = this.states.get(state).exec_count;
        for (let done = 0; done < total; done += 1) {
            this.tell({ event: 'replaying', state, done, total });
            await pause(this.replayMs);
        }
        this.change(state, { living: 'memory', revival: { by: 'replay' } });
    }

    trust() {
        const foreign = [...this.states.values()].filter((s) => s.checkpoint?.is_trusted === false);
        for (const { id, checkpoint } of foreign)
            this.change(id, { checkpoint: { ...checkpoint, is_trusted: true } });
        return { kind: 'trusted', count: foreign.length };
    }

    troubled(trouble) {
        this.trouble = trouble;
        this.tell({ event: 'trouble_changed', trouble });
    }

    delete_state({ state, subtree = false }) {
        if (state === 'initial') return this.refuse('delete state initial', 'every notebook begins with it');
        if (subtree) {
            const gone = [state];
            for (const id of gone)
                gone.push(...[...this.states.values()].filter((s) => s.parent === id).map((s) => s.id));
            const runs = [...this.runs.values()]
                .filter((run) => gone.includes(run.state) || gone.includes(run.on.state))
                .map((run) => run.exec_id);
            for (const id of gone) this.states.delete(id);
            for (const id of runs) this.runs.delete(id);
            return this.tell({ event: 'removed', states: gone, runs, deleted_at: 1 });
        }
        if ([...this.states.values()].some((s) => s.parent === state))
            return this.change(state, { living: 'deleted' });
        const runs = [this.states.get(state).exec_id];
        this.states.delete(state);
        this.runs.delete(runs[0]);
        this.tell({ event: 'removed', states: [state], runs, deleted_at: 1 });
        return undefined;
    }

    delete_branches({ states, attempts = [] }) {
        for (const state of states) this.delete_state({ state, subtree: true });
        for (const exec_id of attempts) this.drop_attempt({ exec_id });
    }

    drop_attempt({ exec_id }) {
        this.runs.delete(exec_id);
        this.tell({ event: 'removed', states: [], runs: [exec_id], deleted_at: 1 });
    }

    reset() {
        this.empty();
        this.tell({ event: 'reset', notebook: this.snapshot() });
    }

    /** Waits for the configured delay and counts an answer to `questions`. */
    async #pause() {
        await pause(this.slowMs);
        this.answered += 1;
    }

    /** Each state has its own number, and an unknown name has none. */
    async evaluate({ state, expressions }) {
        const number = [...this.states.keys()].indexOf(state) / 100;
        const values = expressions.map((text) =>
            text === 'nothing'
                ? { text: "NameError: name 'nothing' is not defined", number: null, failed: true }
                : { text: String(number), number, failed: false },
        );
        return { kind: 'evaluated', values };
    }

    /**
     * A data frame of a million cities. It sorts in the order of its rows or the reverse, and
     * filters by the least population. Only a number is compared with a number.
     * @returns {Promise<any>}
     */
    async table({ view }) {
        const { sort, filters, offset = 0, limit, form, summaries } = view;
        const least = filters.map(({ value }) => Number(value));
        if (least.some(Number.isNaN))
            return {
                kind: 'refused',
                code: 'bad_request',
                what: 'show a table',
                why: `the column population is compared with '${filters[0].value}', which is not a number`,
                how: 'compare it with a number, or search for a text',
            };
        const first = Math.max(0, ...least);
        const matching = Math.max(0, MILLION - first);
        const count = Math.max(0, Math.min(limit, matching - offset));
        const rows = Array.from({ length: count }, (_, i) => {
            const at = sort?.descending ? MILLION - 1 - offset - i : first + offset + i;
            return [String(at), at % 10 ? `City ${at}` : null, String(at)];
        });
        const column = (name, dtype, kind, is_index = false) => ({ name, dtype, kind, is_index });
        return {
            kind: 'table',
            table: {
                columns: [
                    column('', 'int64', 'number', true),
                    column('city', 'object', 'text'),
                    column('population', 'int64', 'number'),
                ],
                columns_left_out: 0,
                total: MILLION,
                matching,
                count,
                rows: form ? null : rows,
                text: form ? rows.map((row) => `${row.join(',')}\n`).join('') : null,
                summaries: summaries
                    ? {
                          columns: [
                              null,
                              {
                                  distinct: 18_000,
                                  frequent: [
                                      { text: 'City 1', count: 900 },
                                      { text: 'City 2', count: 50 },
                                  ],
                                  missing: 2000,
                              },
                              {
                                  bars: Array.from({ length: 20 }, (_, i) => i * i),
                                  low: String(first),
                                  high: String(MILLION - 1),
                                  missing: 0,
                              },
                          ],
                          sampled: 20_000,
                      }
                    : null,
            },
        };
    }

    /**
     * Completes names of the state and of Python, attributes of `text.`, a magic, a path and keys.
     * Offsets are in code points, as on the server.
     * @returns {Promise<any>}
     */
    async complete({ state, code, cursor }) {
        this.questions.push({ do: 'complete', state, code, cursor });
        await this.#pause();
        const before = [...code].slice(0, cursor).join('');
        const typed = before.match(/(?:%|[\w.]*\.|["'])?[\p{L}\p{N}_]*$/u)[0];
        const all = [
            ...NAMES,
            ...this.look_at_variables({ state }).variables.map(({ name }) => ({
                text: name,
                kind: 'instance',
                signature: null,
            })),
        ];
        const [items, word] = typed.startsWith('%')
            ? [MAGICS, typed]
            : typed.includes('.')
              ? [ATTRIBUTES, typed.split('.').at(-1)]
              : /^["']/.test(typed)
                ? [KEYS, typed]
                : [all, typed];
        return {
            kind: 'completions',
            from: cursor - [...word].length,
            to: cursor,
            items: items.filter(({ text }) => text.startsWith(word)),
        };
    }

    /** Finds the syntax error of code with `= =`. @returns {any} */
    check({ code }) {
        const from = [...code.split('= =')[0]].length + 2;
        const error = { from, to: from + 1, message: 'invalid syntax' };
        return { kind: 'checked', error: code.includes('= =') ? error : null };
    }

    /** @returns {Promise<any>} */
    async inspect({ state, code, cursor }) {
        this.questions.push({ do: 'inspect', state, code, cursor });
        await this.#pause();
        const before = [...code].slice(0, cursor).join('');
        const call = before.match(/(\w+)\(([^()]*)$/);
        const word = before.match(/\w*$/)[0] + [...code].slice(cursor).join('').match(/^\w*/)[0] || call?.[1];
        const found = OBJECTS[word] ?? OBJECTS[call?.[1]];
        return {
            kind: 'inspected',
            object: found
                ? {
                      ...found,
                      signature: found.signature && {
                          ...found.signature,
                          active: call ? call[2].split(',').length - 1 : null,
                      },
                  }
                : null,
        };
    }

    look_at_variables({ state }) {
        if (this.variables?.[state]) return { kind: 'variables', variables: this.variables[state] };
        const line = [];
        for (let s = this.states.get(state); s?.exec_id; s = this.states.get(s.parent))
            line.unshift(this.runs.get(s.exec_id).code);
        const found = [...line.join('\n').matchAll(/^(\w+) = (.+)$/gm)].map(([, name, repr]) => ({
            name,
            type: /^\d/.test(repr) ? 'int' : 'DataFrame',
            repr,
            size: /^\d/.test(repr) ? null : '(4, 3)',
        }));
        return { kind: 'variables', variables: [...new Map(found.map((v) => [v.name, v])).values()] };
    }
}

const NAMES = [
    ['print', 'function', '(*values, sep=" ", end="\\n", file=None)'],
    ['property', 'class', null],
    ['pow', 'function', '(base, exp, mod=None)'],
    ['range', 'class', '(start, stop, step=1)'],
    ['random', 'module', null],
    ['import', 'keyword', null],
    ['größe', 'instance', null],
    ['reversed', 'class', '(sequence)'],
].map(([text, kind, signature]) => ({ text, kind, signature }));
const ATTRIBUTES = [
    ['upper', 'function', '()'],
    ['split', 'function', '(sep=None, maxsplit=-1)'],
    ['strip', 'function', '(chars=None)'],
].map(([text, kind, signature]) => ({ text, kind, signature }));
const MAGICS = ['%matplotlib', '%time', '%timeit'].map((text) => ({ text, kind: 'magic', signature: null }));
const KEYS = ['"name"', '"size"', '"name of it"'].map((text) => ({ text, kind: 'key', signature: null }));
const OBJECTS = {
    print: {
        name: 'print',
        type: 'builtin_function_or_method',
        repr: '<built-in function print>',
        signature: {
            parameters: ['*values', 'sep=" "', 'end="\\n"', 'file=None', 'flush=False'],
            returns: 'None',
        },
        doc: `Prints the values to a stream, or to sys.stdout by default.\n\nsep\n  string inserted between values, default a space.\nend\n  string appended after the last value, default a newline.\n${'More of it, line by line.\n'.repeat(30)}`,
        place: 'builtins',
    },
    range: {
        name: 'range',
        type: 'type',
        repr: "<class 'range'>",
        signature: { parameters: ['start', 'stop', 'step=1'], returns: null },
        doc: 'range(stop) -> range object',
        place: 'builtins',
    },
};

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

if (process.argv[1] === fileURLToPath(import.meta.url)) {
    const fixture = process.argv[3] && (await import('./fixture.mjs'))[process.argv[3]]();
    console.log((await start(Number(process.argv[2] ?? 0), fixture)).url);
}
