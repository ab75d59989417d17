// @ts-check
// Runs regular expressions in a worker. Some take longer than any user waits, and nothing but the
// end of its thread stops one.

/** @typedef {import('../find-worker.js').Job} Job */
/** @typedef {import('../find-worker.js').Result} Result */
/**
 * @typedef {Result | 'slow' | 'missing' | 'stopped'} Answer `slow`: the job took too long;
 *   `missing`: the worker's script did not load; `stopped`: by `stop`
 */

/** How long a job may take, in milliseconds. */
const LIMIT_MS = 2000;

export class RegexWorker {
    /** @type {Worker | null} */
    #worker = null;
    /** Receives the answer of the job that runs. @type {((answer: Answer) => void) | null} */
    #done = null;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    #timer = undefined;

    /** Runs a job. At most one runs at a time. @param {Job} job @returns {Promise<Answer>} */
    run(job) {
        return new Promise((done) => {
            this.#done = done;
            this.#worker ??= this.#start();
            this.#worker.postMessage(job);
        });
    }

    /** Ends the job that runs. */
    stop() {
        if (this.#done) this.#end('stopped');
    }

    /** Ends the worker. */
    close() {
        this.#end('stopped');
    }

    #start() {
        const worker = new Worker(new URL('../find-worker.js', import.meta.url), { type: 'module' });
        worker.onmessage = ({ data }) => {
            // The time until the script has loaded does not count.
            if (data === 'begun') this.#timer = setTimeout(() => this.#end('slow'), LIMIT_MS);
            else if (data === 'failed') this.#answer('slow');
            else this.#answer(data);
        };
        worker.onerror = (event) => {
            event.preventDefault();
            this.#end('missing');
        };
        return worker;
    }

    /** @param {Answer} answer */
    #end(answer) {
        this.#worker?.terminate();
        this.#worker = null;
        this.#answer(answer);
    }

    /** @param {Answer} answer */
    #answer(answer) {
        clearTimeout(this.#timer);
        const done = this.#done;
        this.#done = null;
        done?.(answer);
    }
}
