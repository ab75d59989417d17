// @ts-check
// What is in a variable: its entries as a tree, or its picture. Each level is read from the state
// when the user opens it, 100 entries at a time.

import { rove, walk } from '../outputs/json-tree.js';
import { WORDS } from '../shell/words.js';
import { Component, html } from '../vendor/preact.js';
import { VARIABLES_WORDS as SAY } from './variables-words.js';

/** @typedef {import('../shell/protocol-types').ValuePart} Part */
/** @typedef {import('../shell/protocol-types').ValueEntry} Entry */
/** @typedef {(path: number[], offset: number) => Promise<Part | string>} Read a text: why not */

/**
 * @typedef {{page: import('../notebook/page.js').Page, state: string, name: string}} Props
 * @extends {Component<Props, {part: Part | string | null}>}
 */
export class ValueInside extends Component {
    state = { part: /** @type {Part | string | null} */ (null) };
    isUnmounted = false;

    /** @type {Read} */
    read = async (path, offset) => {
        const { page, state, name } = this.props;
        const reply = await page.host.send({ do: 'value_part', state, view: { name, path, offset } });
        if (reply.kind === 'value_part') return reply.part;
        return reply.kind === 'refused' ? WORDS.refused(reply) : '';
    };

    async componentDidMount() {
        const part = await this.read([], 0);
        if (!this.isUnmounted) this.setState({ part });
    }

    componentWillUnmount() {
        this.isUnmounted = true;
    }

    /** @param {Props} props @param {{part: Part | string | null}} state */
    render({ name }, { part }) {
        if (part === null) return html`<p class="hint" role="status">${SAY.looking}</p>`;
        if (typeof part === 'string') return html`<p class="trouble" role="alert">${part}</p>`;
        if (part.picture)
            return html`<img class="whole-picture" alt=${SAY.pictureOf(name)}
                src=${`data:image/png;base64,${part.picture}`} />`;
        if (!part.entries.length) return null;
        return html`<div class="tree whole-tree" role="tree" aria-label=${SAY.entriesOf(name)}
            onKeyDown=${walk} onFocusIn=${rove}>
            <${Level} read=${this.read} path=${[]} part=${part} /></div>`;
    }
}

/**
 * @typedef {{read: Read, path: number[], part: Part}} LevelProps
 * @extends {Component<LevelProps, {entries: Entry[], trouble: string}>}
 */
class Level extends Component {
    state = { entries: this.props.part.entries, trouble: '' };

    async #more() {
        const { read, path } = this.props;
        const next = await read(path, this.state.entries.length);
        if (typeof next === 'string') this.setState({ trouble: next });
        else this.setState(({ entries }) => ({ entries: [...entries, ...next.entries], trouble: '' }));
    }

    /** @param {LevelProps} props @param {{entries: Entry[], trouble: string}} state */
    render({ read, path, part }, { entries, trouble }) {
        const left = (part.count ?? 0) - entries.length;
        return html`${entries.map(
            (entry, at) => html`<${EntryView} key=${at} read=${read} path=${[...path, at]} entry=${entry}
                count=${part.count} />`,
        )}${trouble && html`<p class="trouble" role="alert">${trouble}</p>`}${
            left > 0 &&
            html`<button class="text-button" role="treeitem" aria-level=${path.length + 1} tabindex="-1"
                onClick=${() => void this.#more()}>${SAY.showMore(Math.min(left, 100), left)}</button>`
        }`;
    }
}

/**
 * @typedef {{read: Read, path: number[], entry: Entry, count: number | null}} EntryProps
 * @extends {Component<EntryProps, {isOpen: boolean, part: Part | string | null}>}
 */
class EntryView extends Component {
    state = { isOpen: false, part: /** @type {Part | string | null} */ (null) };

    async #toggle() {
        const isOpen = !this.state.isOpen;
        this.setState({ isOpen });
        if (!isOpen || (this.state.part && typeof this.state.part !== 'string')) return;
        this.setState({ part: await this.props.read(this.props.path, 0) });
    }

    /**
     * @param {EntryProps} props
     * @param {{isOpen: boolean, part: Part | string | null}} state
     */
    render({ read, path, entry, count }, { isOpen, part }) {
        const { key, type, text, count: size } = entry;
        const level = path.length;
        const [at = 0] = path.slice(-1);
        const isBranch = size !== null && size > 0;
        const name = key !== null && html`<span class="key">${key}</span>`;
        const position = {
            'aria-level': level,
            'aria-setsize': count,
            'aria-posinset': at + 1,
            tabindex: level === 1 && at === 0 ? 0 : -1,
        };
        if (!isBranch)
            return html`<div class="leaf" role="treeitem" title=${type} ...${position}>
                ${name}<span class="value">${text}</span></div>`;
        const toggle = (/** @type {MouseEvent} */ event) => (void this.#toggle(), event.stopPropagation());
        return html`<div class="branch" role="treeitem" aria-expanded=${isOpen ? 'true' : 'false'}
            aria-label=${[key, type, SAY.entries(size)].filter(Boolean).join(', ')} ...${position}
            onClick=${toggle}>
            <span class="twist" aria-hidden="true">${isOpen ? '▾' : '▸'}</span>${name}<span
                class="extent">${type}, ${SAY.entries(size)}</span>
            ${
                isOpen &&
                html`<div class="below" role="group"
                onClick=${(/** @type {MouseEvent} */ event) => event.stopPropagation()}>${
                    part === null
                        ? SAY.looking
                        : typeof part === 'string'
                          ? html`<p class="trouble" role="alert">${part}</p>`
                          : html`<${Level} read=${read} path=${path} part=${part} />`
                }</div>`
            }</div>`;
    }
}
