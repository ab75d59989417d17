// A server and clients that edit one draft, in simulated time: messages arrive late but in order,
// connections break, and the server crashes.

import assert from 'node:assert/strict';
import { Drafts } from '../../web/notebook/drafts.js';
import { Model } from '../../web/shell/model.js';
import { snapshot, state } from './records.mjs';

/** A random number generator: equal seeds give equal numbers. @param {number} seed */
export function chance(seed) {
    let now = (seed * 2654435761) % 2 ** 32;
    return (/** @type {number} */ n) => {
        now = (now * 1664525 + 1013904223) % 2 ** 32;
        return Math.floor((now / 2 ** 32) * n);
    };
}

/** Simulates the server's rules for drafts (src/session/machine/drafts.rs). */
export class World {
    constructor(seed, clients) {
        this.below = chance(seed);
        this.now = 0;
        /**
         * How long the server takes to write a change to disk, in milliseconds. It answers after
         * that.
         */
        this.fsyncMs = 20;
        /** Whether clients also delete characters. */
        this.deletes = true;
        this.count = 0;
        this.due = [];
        /** All characters that were typed (`typed`) and deleted (`taken`). */
        this.typed = new Set();
        this.taken = new Set();
        this.drafts = new Map();
        this.onDisk = new Map();
        this.epoch = 0;
        this.events = [];
        this.clients = Array.from({ length: clients }, (_, i) => new Client(this, i));
    }

    at(delay, what) {
        this.due.push([this.now + delay, (this.count += 1), what]);
    }

    async step() {
        this.due.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
        const [[time, , what]] = this.due.splice(0, 1);
        this.now = time;
        what();
        await null;
        await null;
    }

    async run() {
        for (let steps = 0; this.due.length; steps += 1) {
            await this.step();
            assert.ok(steps < 20_000, 'the simulation ends');
        }
    }

    /** @returns the reply, or null if the server crashes before the change is on disk */
    put({ draft, base, update }, answer) {
        const known = this.drafts.get(draft.id);
        const refuse = (code) => answer({ kind: 'refused', code, what: '', why: '', how: '' });
        const last = known?.received.find(({ client }) => client === update.client)?.number ?? 0;
        if (last >= update.number) return this.whenOnDisk(() => answer({ kind: 'done' }));
        if (known && (known.version !== base || last + 1 !== update.number)) return refuse('conflict');
        if (!known && base > 0) return refuse('not_found');
        const isSame = known && known.source === draft.source && known.kind === draft.kind;
        const { client, number } = update;
        const received = (known?.received ?? []).filter((other) => other.client !== client);
        received.push({ client, number });
        const next = { ...draft, version: known ? known.version + (isSame ? 0 : 1) : 1, received };
        this.drafts.set(draft.id, next);
        const ids = [...this.drafts.keys()];
        const put = [{ draft: next, after: ids[ids.indexOf(draft.id) - 1] ?? null, update }];
        this.events.push(structuredClone({ event: 'drafts_changed', on: 's', removed: [], put }));
        for (const each of this.clients) each.downEvents();
        return this.whenOnDisk(() => answer({ kind: 'done' }));
    }

    whenOnDisk(then) {
        const { epoch } = this;
        const drafts = structuredClone(this.drafts);
        this.at(this.fsyncMs, () => {
            if (this.epoch !== epoch) return;
            this.onDisk = drafts;
            then();
        });
    }

    /** Crashes the server: all connections break, and changes that are not on disk are lost. */
    crash() {
        this.epoch += 1;
        this.drafts = structuredClone(this.onDisk);
        this.events = [];
        for (const client of this.clients) client.disconnect();
    }
}

class Client {
    constructor(world, number) {
        this.world = world;
        this.number = number;
        this.typed = 0;
        this.downAt = 0;
        this.upAt = 0;
        this.editor = '';
        /** @type {number | undefined} */
        this.cursor = undefined;
        this.connection = 1;
        this.isConnected = true;
        this.epoch = 0;
        this.given = 0;
        this.heard = 0;
        this.pending = new Set();
        this.model = new Model();
        this.load([]);
        this.drafts = new Drafts(this.model, (command) => this.up(command), {
            requestPaint: () => {},
            refused: (reply) => assert.notEqual(reply.kind, 'refused'),
            orphaned: () => assert.fail('no draft is lost'),
            setTimer: (what, ms) => {
                const timer = { what };
                world.at(ms, () => timer.what?.());
                return timer;
            },
            clearTimer: (timer) => timer && (timer.what = null),
        });
    }

    load(drafts) {
        this.model.load(snapshot({ states: [state('s', null)], drafts }));
    }

    disconnect() {
        this.connection += 1;
        this.isConnected = false;
    }

    /**
     * Connects again: the server sends the events since the last one, or a snapshot; the client
     * sends unanswered messages again.
     */
    reconnect() {
        if (this.isConnected) return;
        this.connection += 1;
        this.isConnected = true;
        const { world } = this;
        if (this.epoch === world.epoch && world.below(2)) this.given = this.heard;
        else {
            this.given = world.events.length;
            const [drafts, { epoch }] = [structuredClone([...world.drafts.values()]), world];
            const heard = this.given;
            this.down(() => {
                const isAnother = epoch !== this.epoch;
                Object.assign(this, { epoch, heard });
                this.load(drafts);
                this.drafts.rescue('s', isAnother);
                if (isAnother) this.refuseHeld();
            });
        }
        this.downEvents();
        if (this.epoch === world.epoch) for (const message of this.pending) this.upAgain(message);
    }

    /** As the page's socket does: what is based on another epoch is not sent. */
    refuseHeld() {
        for (const message of this.pending)
            message.answer({ kind: 'refused', code: 'conflict', what: '', why: '', how: '' });
        this.pending.clear();
    }

    up(command) {
        return new Promise((answer) => {
            const message = { command: structuredClone(command), answer };
            this.pending.add(message);
            if (this.isConnected && this.epoch === this.world.epoch) this.upAgain(message);
        });
    }

    upAgain(message) {
        this.upAt = Math.max(this.upAt, this.world.now + this.world.below(400));
        this.whileConnected(this.upAt, () =>
            this.world.put(structuredClone(message.command), (reply) => {
                if (!this.isConnected) return;
                this.down(() => {
                    if (this.pending.delete(message)) message.answer(reply);
                });
            }),
        );
    }

    downEvents() {
        if (!this.isConnected) return;
        for (const event of this.world.events.slice(this.given)) {
            this.given += 1;
            this.down(() => {
                this.heard += 1;
                const own = structuredClone(event);
                this.drafts.applyServerDrafts(own);
                this.model.fold(own);
            });
        }
    }

    down(then) {
        this.downAt = Math.max(this.downAt, this.world.now + this.world.below(400));
        this.whileConnected(this.downAt, then);
    }

    whileConnected(time, then) {
        const { connection } = this;
        this.world.at(time - this.world.now, () => this.connection === connection && then());
    }

    get text() {
        return this.drafts.get('d')?.source ?? '';
    }

    /** Updates the editor to the current text. */
    paint() {
        this.editor = this.text;
    }

    /** Types a unique character at a random position, or deletes one. */
    type() {
        const { below, typed: all, taken } = this.world;
        const before = this.editor;
        const at = below(3) ? below(before.length + 1) : before.length;
        const takes = this.world.deletes && below(5) === 0 && at < before.length;
        const typed = takes ? '' : String.fromCodePoint(0x4e00 + this.number * 2000 + (this.typed += 1));
        const text = before.slice(0, at) + typed + before.slice(at + (takes ? 1 : 0));
        this.editor = text;
        this.drafts.put({ id: 'd', on: 's', kind: 'code', source: text }, null, { before });
        if (takes) taken.add(before[at]);
        else all.add(typed);
    }
}
