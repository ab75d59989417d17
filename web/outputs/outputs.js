// @ts-check
// The outputs of a run, in order, and its input prompt. The outputs can be collapsed into one line.

import { Component, html } from '../vendor/preact.js';
import { choose, imageAddress, imageSize, modelOf } from './mime.js';
import { bytes } from '../text/format.js';
import { plainLines } from '../text/terminal.js';
import { LazyPart, withPart } from '../shell/lazy-parts.js';
import { WORDS } from '../shell/words.js';
import { OUTPUT_WORDS } from './output-words.js';
import { errorText, ErrorView } from './error-view.js';
import { Frame } from './frame.js';
import { UntrustedOutput, isUntrusted } from './untrusted-output.js';
import { keep, recall } from './output-settings.js';
import { summary } from './output-summary.js';
import { OutputToolbar, saveFile } from './output-toolbar.js';
import { ImageOutput } from './image.js';
import { countOf, goToLine } from './traceback-links.js';
import { Latex, Markdown } from './rich-text.js';
import { InputPrompt } from './input-prompt.js';
import { StaticText, Stream } from './stream.js';
import { shownTable } from '../table/shown-table.js';

/** @typedef {import('../shell/model.js').Item} Item */
/** @typedef {import('../shell/model.js').Run} Run */
/**
 * @typedef {{run: Run, rev: number, mayRun: boolean, isCopy?: boolean,
 *   controller: import('../cell/cell-controller.js').CellController}} OutputsProps `isCopy`:
 *   whether these outputs are beside those in the cell. A copy has settings of its own and no
 *   prompt.
 */

/** How long cleared outputs keep their height for the next ones, in milliseconds. */
const HOLD_MS = 1000;

/** The mounted views in cells, by run. @type {Map<string, Outputs>} */
const shownNow = new Map();

/** Collapses or expands a run's outputs. @param {string | undefined} exec_id */
export const toggleFold = (exec_id) => shownNow.get(exec_id ?? '')?.toggle();

/** @param {string | undefined} exec_id */
export const isOutputFolded = (exec_id) => shownNow.get(exec_id ?? '')?.state.isFolded ?? false;

/** Whether a run shows anything. @param {Run | undefined} run */
export const hasOutput = (run) => run !== undefined && (run.outputs.length > 0 || run.error !== null);

/**
 * Keeps the outputs of a cell in view beside the notebook.
 * @param {import('../cell/cell-controller.js').CellController} controller
 * @param {Run} run
 */
export const keepInView = (controller, run) =>
    void withPart('kept', controller.page, ({ keep }) => keep(controller, run), false);

/** @extends {Component<OutputsProps, {isFolded: boolean}>} */
export class Outputs extends Component {
    id = (this.props.isCopy ? 'copy ' : '') + this.props.run.exec_id;
    state = { isFolded: recall(`fold ${this.id}`) === true };
    keep = this.props.isCopy ? null : () => keepInView(this.props.controller, this.props.run);
    /** @type {HTMLElement | null} */
    element = null;
    /** The key of the first painted item. @type {number | undefined} */
    first = undefined;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    holding = undefined;

    componentDidMount() {
        shownNow.set(this.id, this);
        this.first = this.props.run.outputs[0]?.key;
    }

    componentWillUnmount() {
        if (shownNow.get(this.id) === this) shownNow.delete(this.id);
        clearTimeout(this.holding);
    }

    /** @param {OutputsProps} next @param {{isFolded: boolean}} state */
    shouldComponentUpdate(next, state) {
        const changes =
            next.run !== this.props.run ||
            next.rev !== this.props.rev ||
            next.mayRun !== this.props.mayRun ||
            state.isFolded !== this.state.isFolded;
        if (changes) this.#hold(next.run);
        return changes;
    }

    /**
     * Keeps the height of cleared outputs for the next ones, so that the cells below do not jump.
     * @param {Run} run
     */
    #hold(run) {
        const first = run.outputs[0]?.key;
        const isCleared = this.first !== undefined && first !== this.first;
        this.first = first;
        if (!isCleared || run.status !== 'running' || !this.element) return;
        this.element.style.minHeight = `${this.element.offsetHeight}px`;
        clearTimeout(this.holding);
        this.holding = setTimeout(() => {
            this.holding = undefined;
            if (this.element) this.element.style.minHeight = '';
            this.forceUpdate();
        }, HOLD_MS);
    }

    toggle() {
        const isFolded = !this.state.isFolded;
        keep(`fold ${this.id}`, isFolded || undefined);
        this.setState({ isFolded });
    }

    /** @param {OutputsProps} props @param {{isFolded: boolean}} state */
    render({ run, controller, mayRun, isCopy }, { isFolded }) {
        const prompt = isCopy ? null : run.prompt;
        const ownError =
            run.error && !run.outputs.some((item) => item.output_type === 'error') ? run.error : null;
        const isSilent = run.outputs.length === 0 && !prompt && !ownError;
        if (isSilent && this.holding === undefined) return null;
        const fold = isFolded ? OUTPUT_WORDS.unfold : OUTPUT_WORDS.fold;
        return html`
            <div class="outputs" data-status=${run.status}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}>
                ${
                    !isSilent &&
                    html`<button class="fold" key="fold" aria-label=${fold} title=${fold}
                    aria-expanded=${!isFolded} onClick=${() => this.toggle()}></button>`
                }
                ${
                    run.status === 'imported' &&
                    html`<div class="imported" key="imported">
                    ${OUTPUT_WORDS.imported}</div>`
                }
                ${
                    isFolded
                        ? html`<div class="output-note" key="folded">
                            ${OUTPUT_WORDS.folded(summary(run))} <button class="text-button"
                                onClick=${() => this.toggle()}>${OUTPUT_WORDS.unfold}</button></div>`
                        : run.outputs.map((item, i) => this.#output(item, i))
                }
                ${
                    ownError &&
                    !isFolded &&
                    html`<div class="output" key="error">
                    ${this.#failure(ownError)}</div>`
                }
                ${
                    prompt &&
                    html`<${InputPrompt} key="prompt" prompt=${prompt} exec_id=${run.exec_id}
                    controller=${mayRun ? controller : null} />`
                }
            </div>`;
    }

    /** @param {Item} item @param {number} i */
    #output(item, i) {
        const { run, controller, mayRun } = this.props;
        const id = `${this.id} ${i}`;
        if (item.output_type === 'error')
            return html`<div class="output" key=${item.key}>${this.#failure(item)}</div>`;
        if (item.output_type === 'stream') {
            return html`<div class="output" key=${item.key}>
                <${Stream} pieces=${item.pieces} count=${item.pieces.length} name=${item.name} id=${id}
                    isGrowing=${run.status === 'running'} />
                <${OutputToolbar} page=${controller.page} text=${() => plain(item.pieces.join(''))}
                    image=${null} onKeep=${this.keep} /></div>`;
        }
        const chosen = choose(item.data);
        const { how, mime, data } = chosen;
        const text =
            how === 'markdown' || how === 'latex' || how === 'text'
                ? data
                : how === 'frame' && /<table/i.test(data) && item.data['text/plain'];
        const table = mayRun ? shownTable(run, item) : null;
        const isGrid = table !== null && recall(`grid ${id}`) !== undefined;
        const onGrid = () => {
            keep(`grid ${id}`, isGrid ? undefined : { isNew: true });
            this.forceUpdate();
        };
        const shows = () => shown(chosen, item, id, run, controller.page);
        // An image that replaces another reuses its element, so that it changes without a flicker.
        return html`<div class="output" data-how=${how} data-untrusted=${isUntrusted(run, item) ? '' : null}
            key=${how === 'image' ? `image ${i}` : item.key}>
            ${
                isGrid
                    ? html`<${LazyPart} of="table" view=${grid} page=${controller.page} onFailed=${onGrid}
                what=${table} id=${id} item=${item} />`
                    : isUntrusted(run, item)
                      ? html`<${UntrustedOutput} item=${item} id=${id} shown=${shows} />`
                      : shows()
            }
            <${OutputToolbar} page=${controller.page}
                text=${
                    isGrid
                        ? null
                        : how === 'json'
                          ? () => JSON.stringify(data, null, 2)
                          : text
                            ? () => plain(String([text].flat().join('')))
                            : null
                }
                image=${how === 'image' ? { mime, data } : null}
                table=${table} id=${id} isGrid=${isGrid} onGrid=${onGrid}
                onKeep=${this.keep} /></div>`;
    }

    /** @param {import('../shell/protocol.js').RunError} error */
    #failure(error) {
        const { run, controller } = this.props;
        const goTo = (/** @type {number} */ cell, /** @type {number} */ line) =>
            goToLine(controller, run, cell, line);
        return html`<${ErrorView} error=${error} count=${countOf(controller.page.model, run)} goTo=${goTo} />
            <${OutputToolbar} page=${controller.page} text=${() => errorText(error)} image=${null}
                onKeep=${this.keep} />`;
    }
}

/** @param {import('../shell/lazy-parts.js').Part<'json'>} part */
const jsonTree = (part) => part.Json;

/** @param {import('../shell/lazy-parts.js').Part<'table'>} part */
const grid = (part) => part.GridInPlace;

/** @param {import('../shell/lazy-parts.js').Part<'widgets'>} part */
const widgetOutput = (part) => part.WidgetOutput;

/**
 * @param {import('./mime.js').Shown} chosen
 * @param {Exclude<Item, {output_type: 'stream' | 'error'}>} item
 * @param {string} id
 * @param {Run} run
 * @param {import('../notebook/page.js').Page} page
 * @returns {any}
 */
function shown({ how, mime, data }, item, id, run, page) {
    if (how === 'frame') return html`<${Frame} content=${data} id=${id} />`;
    if (how === 'markdown') return html`<${Markdown} text=${data} />`;
    if (how === 'latex') return html`<${Latex} text=${data} />`;
    if (how === 'json')
        return html`<${LazyPart} of="json" view=${jsonTree} page=${page} onFailed=${() => {}} data=${data} />`;
    if (how === 'image') {
        const alt = typeof item.data['text/plain'] === 'string' ? item.data['text/plain'] : WORDS.image;
        return html`<${ImageOutput} id=${id} page=${page} src=${imageAddress(mime, data)} alt=${alt}
            ...${imageSize(item.metadata, mime)} />`;
    }
    if (how === 'file') {
        return html`<div class="output-note">
            <button class="button" data-frame onClick=${() => saveFile(mime, data)}>
                ${OUTPUT_WORDS.save(mime, bytes(Math.floor(data.length * 0.75)))}</button></div>`;
    }
    if (how === 'widget') {
        const fallback = () => shown(choose(data), { ...item, data }, id, run, page);
        return html`<${LazyPart} of="widgets" view=${widgetOutput} page=${page} onFailed=${() => {}} run=${run}
            id=${id} fallback=${fallback} modelId=${modelOf(item.data)} />`;
    }
    return html`<${StaticText} text=${data} name="value" id=${id} />`;
}

/** The final text as a terminal would show it, for copying. @param {string} text */
const plain = (text) => plainLines(text).join('\n');
