// @ts-check
// The header of the graph: the search field, and the button that folds or unfolds all rows.

import { Component, html } from '../vendor/preact.js';
import { BRANCHES_COMMAND_WORDS } from '../branches/branches-command-words.js';
import { GRAPH_WORDS } from './graph-words.js';
import { DownIcon, FoldIcon, SearchIcon, TableIcon, UnfoldIcon, UpIcon } from '../ui/icons.js';

/**
 * @typedef {{held: (head: GraphHeader) => void, query: string, count: number, at: number,
 *   canFold: boolean, isWhole: boolean, onQuery: (query: string) => void,
 *   onStep: (step: 1 | -1) => void, onLeave: () => void, onBlur: () => void, onWhole: () => void,
 *   onTable: () => void}} HeadProps `held` is called with the header after it is mounted; `count`:
 *   the number of hits; `at`: the index of the current hit; `onLeave`: Escape in an empty field
 */

/** @extends {Component<HeadProps, {}>} */
export class GraphHeader extends Component {
    /** @type {HTMLInputElement | null} */
    field = null;

    componentDidMount() {
        this.props.held(this);
    }

    focus() {
        this.field?.focus();
        this.field?.select();
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const { onStep, onQuery, onLeave, query } = this.props;
        if (event.isComposing) return;
        if (event.key === 'Enter') onStep(event.shiftKey ? -1 : 1);
        else if (event.key === 'ArrowDown') onStep(1);
        else if (event.key === 'ArrowUp') onStep(-1);
        else if (event.key === 'Escape' && query) onQuery('');
        else if (event.key === 'Escape') onLeave();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /** @param {HeadProps} props */
    render({ query, count, at, canFold, isWhole, onQuery, onStep, onBlur, onWhole, onTable }) {
        const asks = query.trim() !== '';
        const fold = isWhole ? GRAPH_WORDS.showLess : GRAPH_WORDS.showAll;
        return html`
            <div class="graph-head">
                <div class="graph-search" role="search">
                    <${SearchIcon} />
                    <input type="text" aria-label=${GRAPH_WORDS.search} placeholder=${GRAPH_WORDS.search}
                        title=${GRAPH_WORDS.searchHint} value=${query} spellcheck="false" autocomplete="off"
                        ref=${(/** @type {HTMLInputElement | null} */ field) => (this.field = field)}
                        onInput=${(/** @type {any} */ event) => onQuery(event.target.value)} onBlur=${onBlur}
                        onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} />
                    ${
                        asks &&
                        html`<span class="graph-found" aria-hidden="true">
                            ${count ? GRAPH_WORDS.found(at + 1, count) : GRAPH_WORDS.foundNone}</span>
                        <button class="tool" aria-label=${GRAPH_WORDS.previous} title=${GRAPH_WORDS.previous}
                            disabled=${count < 2} onClick=${() => onStep(-1)}><${UpIcon} /></button>
                        <button class="tool" aria-label=${GRAPH_WORDS.next} title=${GRAPH_WORDS.next}
                            disabled=${count < 2} onClick=${() => onStep(1)}><${DownIcon} /></button>`
                    }
                </div>
                <button class="tool" aria-label=${BRANCHES_COMMAND_WORDS.command} title=${BRANCHES_COMMAND_WORDS.command}
                    onClick=${onTable}><${TableIcon} /></button>
                ${
                    (canFold || isWhole) &&
                    html`<button class="tool" aria-label=${fold} title=${fold}
                    onClick=${onWhole}>${isWhole ? html`<${FoldIcon} />` : html`<${UnfoldIcon} />`}</button>`
                }
                <span class="visually-hidden" role="status">${asks ? GRAPH_WORDS.foundSaid(count) : ''}</span>
            </div>`;
    }
}
