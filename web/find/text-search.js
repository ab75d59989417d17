// @ts-check
// The matches of a query in texts, which are remembered as long as they are asked for: each paint
// asks again. Regular expressions run in a worker, so their matches are known a little later.

import { matchesIn, replaceIn } from './matches.js';
import { RegexWorker } from './regex-worker.js';

/** @typedef {import('./matches.js').Matches} Matches */

export class TextSearch {
    /**
     * Why a regular expression has no matches: it took too long, or the worker is missing.
     * @type {'slow' | 'missing' | null}
     */
    trouble = null;
    /** @type {RegExp | null} */
    #pattern = null;
    #isRegex = false;
    #worker = new RegexWorker();
    /** @type {Map<string, {matches: Matches, isUsed: boolean}>} */
    #known = new Map();
    /** The texts to search next. @type {Set<string>} */
    #wanted = new Set();
    /** Whether a search runs or is about to begin. */
    #isSearching = false;
    /** The jobs of the worker run one after the other. @type {Promise<unknown>} */
    #jobs = Promise.resolve();

    /** @param {() => void} changed more matches are known, or there is trouble */
    constructor(changed) {
        this.changed = changed;
    }

    /** Searches for another pattern. @param {RegExp | null} pattern @param {boolean} isRegex */
    start(pattern, isRegex) {
        this.#pattern = pattern;
        this.#isRegex = isRegex;
        this.trouble = null;
        this.#known.clear();
        this.#wanted.clear();
        this.#worker.stop();
    }

    /** Ends the search. */
    close() {
        this.start(null, false);
        this.#worker.close();
    }

    /** Forgets the texts that nobody asked for since the last call. */
    forget() {
        for (const [text, entry] of this.#known)
            if (entry.isUsed) entry.isUsed = false;
            else this.#known.delete(text);
    }

    /**
     * The matches in a text. Null if they are not known yet; then `changed` is called.
     * @param {string} text
     * @returns {Matches | null}
     */
    of(text) {
        const known = this.#known.get(text);
        if (known) {
            known.isUsed = true;
            return known.matches;
        }
        if (!this.#pattern) return null;
        if (!this.#isRegex) return this.#keep(text, matchesIn(text, this.#pattern));
        if (this.trouble) return null;
        this.#wanted.add(text);
        if (!this.#isSearching) this.#search();
        return null;
    }

    /** @param {string} text @param {Matches} matches */
    #keep(text, matches) {
        this.#known.set(text, { matches, isUsed: true });
        return matches;
    }

    async #search() {
        this.#isSearching = true;
        // All texts of a paint become one job.
        await null;
        while (this.#wanted.size > 0) {
            const [pattern, texts] = [this.#pattern, [...this.#wanted]];
            this.#wanted.clear();
            const answer = await this.#run({ texts });
            if (pattern !== this.#pattern) continue;
            if (answer === 'slow' || answer === 'missing') this.#fail(answer);
            else if (answer !== 'stopped')
                for (const [i, text] of texts.entries())
                    this.#keep(text, answer.matches?.[i] ?? { spans: [], isCut: false });
            this.changed();
        }
        this.#isSearching = false;
    }

    /** @param {'slow' | 'missing'} trouble */
    #fail(trouble) {
        this.trouble = trouble;
        this.#known.clear();
        this.#wanted.clear();
    }

    /**
     * @param {Omit<import('../find-worker.js').Job, 'pattern'>} job
     * @returns {Promise<import('./regex-worker.js').Answer>}
     */
    #run(job) {
        const pattern = this.#pattern;
        const answer = this.#jobs.then(() =>
            pattern && pattern === this.#pattern ? this.#worker.run({ pattern, ...job }) : 'stopped',
        );
        this.#jobs = answer;
        return answer;
    }

    /**
     * The texts with all matches replaced, or only the one that begins at `only`. Null if that was
     * not possible.
     * @param {string[]} texts
     * @param {string} by
     * @param {number} [only]
     */
    async replaced(texts, by, only) {
        const pattern = this.#pattern;
        if (!pattern) return null;
        if (!this.#isRegex) return texts.map((text) => replaceIn(text, pattern, by, false, only));
        const answer = await this.#run({ texts, by, only });
        if (typeof answer !== 'string') return answer.texts ?? null;
        if (answer !== 'stopped') {
            this.#fail(answer);
            this.changed();
        }
        return null;
    }
}
