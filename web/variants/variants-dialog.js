// @ts-check
// The dialog *Try variants*: takes versions of one cell and runs them at once from the same state.
// This tab keeps the typed versions, so that the dialog can be closed and opened again.

import { Editor } from '../editor/editor.js';
import { Component, html } from '../vendor/preact.js';
import { WORDS as ALL } from '../shell/words.js';
import { CloseIcon } from '../ui/icons.js';
import { show } from '../ui/dialog.js';
import { planVariants, runVariants } from './run-variants.js';
import { VARIANTS_WORDS as WORDS } from './variants-words.js';

/** @typedef {{key: number, text: string}} Variant `key` identifies it while others are removed */
/**
 * @typedef {object} VariantsProps
 * @property {string[]} texts
 * @property {(texts: string[]) => void} keep called after each change
 * @property {(codes: string[]) => number} countFresh how many versions have not run yet
 * @property {(answer: string | null) => void} done called with '' to run the variants
 */

/** The number of cells whose variants a tab keeps. The oldest are dropped. */
const KEPT_CELLS = 20;

/**
 * Asks for variants of a cell's code and runs them.
 * @param {import('../notebook/page.js').Page} page
 * @param {import('../notebook/cell-list.js').Cell} cell
 * @param {string} code the cell's current code
 */
export async function tryVariants(page, cell, code) {
    /** @type {Map<string, string[]>} */
    const kept = new Map(page.host.recall('variants') ?? []);
    const [, ...others] = kept.get(cell.key) ?? [code, code];
    let texts = [code, ...others];
    const keep = (/** @type {string[]} */ now) => {
        texts = now;
        kept.delete(cell.key);
        kept.set(cell.key, now);
        page.host.remember('variants', [...kept].slice(-KEPT_CELLS));
    };
    const answer = await show(
        (done) => html`<${VariantsDialog} texts=${texts} keep=${keep} done=${done}
            countFresh=${(/** @type {string[]} */ codes) => planVariants(page, cell, codes).fresh.length} />`,
        'variants',
    );
    if (answer === null) return;
    const codes = codesOf(texts);
    if (codes.length > 0) runVariants(page, cell, codes);
}

/** The versions to run: those that are not empty, equal ones once. @param {string[]} texts */
const codesOf = (texts) => [...new Set(texts.filter((text) => text.trim()))];

/** @extends {Component<VariantsProps, {variants: Variant[]}>} */
class VariantsDialog extends Component {
    #keys = 0;
    state = { variants: this.props.texts.map((text) => this.#variant(text)) };
    /** @type {Map<number, Editor>} */
    #editors = new Map();

    componentDidMount() {
        // The first variant is the cell as it is: the user changes the second. The dialog opens
        // right after this, and the browser then focuses its first button.
        queueMicrotask(() => this.#focus(1));
    }

    /** @param {string} text @returns {Variant} */
    #variant(text) {
        this.#keys += 1;
        return { key: this.#keys, text };
    }

    /** @param {number} at */
    #focus(at) {
        const { variants } = this.state;
        const variant = variants[Math.min(at, variants.length - 1)];
        this.#editors.get(variant?.key ?? 0)?.focus('end');
    }

    /** @param {Variant[]} variants @param {number} [focus] the variant to focus then */
    #change(variants, focus) {
        this.props.keep(variants.map(({ text }) => text));
        this.setState({ variants }, () => focus !== undefined && this.#focus(focus));
    }

    /** @param {number} key @param {string} text */
    #typed(key, text) {
        this.#change(this.state.variants.map((one) => (one.key === key ? { key, text } : one)));
    }

    #add() {
        const { variants } = this.state;
        this.#change([...variants, this.#variant(variants.at(-1)?.text ?? '')], variants.length);
    }

    /** @param {number} at */
    #remove(at) {
        this.#change(this.state.variants.toSpliced(at, 1), Math.max(at - 1, 0));
    }

    /** The variants that would run. */
    get #codes() {
        return codesOf(this.state.variants.map(({ text }) => text));
    }

    /** @param {KeyboardEvent} event @returns {boolean} whether the key was handled */
    #key(event) {
        if (event.key !== 'Enter' || !(event.ctrlKey || event.metaKey || event.shiftKey)) return false;
        if (this.#codes.length) this.props.done('');
        return true;
    }

    /** @param {VariantsProps} props @param {{variants: Variant[]}} state */
    render({ done, countFresh }, { variants }) {
        const codes = this.#codes;
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why}</p>
            <ol class="variants">
                ${variants.map(({ key, text }, at) => this.#row(key, text, at, variants.length > 1))}
            </ol>
            <div class="answers">
                <button class="button" data-other onClick=${() => this.#add()}>${WORDS.add}</button>
                <button class="button" onClick=${() => done(null)}>${ALL.cancel}</button>
                <button class="button" data-main disabled=${codes.length === 0}
                    onClick=${() => done('')}>${WORDS.run(codes.length, countFresh(codes))}</button>
            </div>`;
    }

    /** @param {number} key @param {string} text @param {number} at @param {boolean} mayRemove */
    #row(key, text, at, mayRemove) {
        const hold = (/** @type {Editor | null} */ editor) =>
            editor ? this.#editors.set(key, editor) : this.#editors.delete(key);
        return html`<li key=${key}>
            <${Editor} text=${text} kind="code" isEditable=${true} isTabStop=${true}
                label=${WORDS.variant(at + 1)} hint=${WORDS.hint}
                onType=${(/** @type {string} */ now) => this.#typed(key, now)} onLeave=${() => {}}
                held=${hold} onKey=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} />
            <button class="tool" aria-label=${WORDS.remove(at + 1)} title=${WORDS.remove(at + 1)}
                disabled=${!mayRemove} onClick=${() => this.#remove(at)}><${CloseIcon} /></button>
        </li>`;
    }
}
