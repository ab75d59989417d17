// @ts-check
// JSON as a tree. A level is rendered when the user opens it; a long level is rendered in parts.
// Arrow keys move through the tree, which is one stop of the Tab key: the item focused last.

import { Component, html } from '../vendor/preact.js';
import { OUTPUT_WORDS } from './output-words.js';

/** Entries rendered at a time. */
const PART = 100;
/** The longest text shown, in characters. Copying gives the complete text. */
const LONGEST = 2000;
/** Levels up to this size are open initially. */
const SMALL = 20;

/** @param {unknown} value @returns {value is object} */
const isBranch = (value) => typeof value === 'object' && value !== null;

/** @param {{data: unknown}} props */
export function Json({ data }) {
    if (!isBranch(data)) return html`<div class="tree"><${Leaf} value=${data} /></div>`;
    return html`<div class="tree" role="tree" aria-label=${OUTPUT_WORDS.tree} onKeyDown=${walk}
        onFocusIn=${rove}><${Branch} name=${null} value=${data} level=${1} nth=${1} count=${1} /></div>`;
}

/**
 * @typedef {{name: string | null, value: object, level: number, nth: number, count: number}}
 *   BranchProps `nth`: which of the `count` entries of its level it is, from 1
 */

/** @extends {Component<BranchProps, {isOpen: boolean, shown: number}>} */
class Branch extends Component {
    state = { isOpen: this.props.level === 1 && sizeOf(this.props.value) <= SMALL, shown: PART };

    /** @param {BranchProps} props @param {{isOpen: boolean, shown: number}} state */
    render({ name, value, level, nth, count }, { isOpen, shown }) {
        const isList = Array.isArray(value);
        const size = sizeOf(value);
        const toggle = (/** @type {MouseEvent} */ event) => (
            this.setState({ isOpen: !isOpen }), event.stopPropagation()
        );
        const more = Math.min(PART * 10, size - shown);
        // The focus goes to the first of the new entries, because the button may disappear.
        const showMore = (/** @type {MouseEvent} */ { currentTarget }) => {
            const level = /** @type {HTMLElement} */ (currentTarget).parentElement;
            this.setState({ shown: shown + more }, () =>
                /** @type {HTMLElement | undefined} */ (level?.children[shown])?.focus(),
            );
        };
        return html`
            <div class="branch" role="treeitem" aria-expanded=${isOpen} aria-level=${level}
                aria-setsize=${count} aria-posinset=${nth}
                aria-label=${name === null ? extent(isList, size) : `${name}, ${extent(isList, size)}`}
                tabindex=${level === 1 ? 0 : -1} onClick=${toggle}>
                <span class="twist" aria-hidden="true">${isOpen ? '▾' : '▸'}</span>
                ${name !== null && html`<span class="key">${name}</span>`}<span class="extent">
                    ${isList ? '[ ' : '{ '}${extent(isList, size)}${isList ? ' ]' : ' }'}</span>
                ${
                    isOpen &&
                    html`<div class="below" role="group"
                        onClick=${(/** @type {MouseEvent} */ event) => event.stopPropagation()}>
                    ${entries(value, shown).map(([key, one], i) =>
                        isBranch(one)
                            ? html`<${Branch} key=${key} name=${key} value=${one} level=${level + 1}
                                nth=${i + 1} count=${size} />`
                            : html`<div key=${key} class="leaf" role="treeitem" aria-level=${level + 1}
                                aria-setsize=${size} aria-posinset=${i + 1} tabindex="-1"><span class="key">${key}</span><${Leaf} value=${one} /></div>`,
                    )}
                    ${
                        more > 0 &&
                        html`<button class="text-button" role="treeitem" aria-level=${level + 1}
                        tabindex="-1" onClick=${showMore}>
                        ${OUTPUT_WORDS.more(more)}</button>`
                    }
                </div>`
                }
            </div>`;
    }
}

/** @param {{value: unknown}} props */
function Leaf({ value }) {
    const text =
        typeof value === 'string'
            ? JSON.stringify(value.slice(0, LONGEST)) + (value.length > LONGEST ? '…' : '')
            : String(value);
    return html`<span class="value" data-type=${value === null ? 'null' : typeof value}>${text}</span>`;
}

/** @param {boolean} isList @param {number} size */
const extent = (isList, size) => (isList ? OUTPUT_WORDS.items(size) : OUTPUT_WORDS.keys(size));

/** @param {object} value */
const sizeOf = (value) => (Array.isArray(value) ? value.length : Object.keys(value).length);

/** @param {object} value @param {number} most @returns {[string, unknown][]} */
function entries(value, most) {
    if (Array.isArray(value)) return value.slice(0, most).map((one, i) => [String(i), one]);
    return Object.keys(value)
        .slice(0, most)
        .map((key) => [key, /** @type {any} */ (value)[key]]);
}

/**
 * Makes the focused item the one that Tab reaches.
 * @param {FocusEvent} event
 */
export function rove({ target, currentTarget }) {
    const [tree, to] = /** @type {HTMLElement[]} */ ([currentTarget, target]);
    if (to?.getAttribute('role') !== 'treeitem') return;
    for (const one of tree?.querySelectorAll('[tabindex="0"]') ?? []) one.setAttribute('tabindex', '-1');
    to.setAttribute('tabindex', '0');
}

/** Moves through the tree by keys. @param {KeyboardEvent} event */
export function walk(event) {
    const at = /** @type {HTMLElement} */ (event.target);
    if (at.getAttribute('role') !== 'treeitem' || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = /** @type {HTMLElement[]} */ ([
        .../** @type {HTMLElement} */ (event.currentTarget).querySelectorAll('[role="treeitem"]'),
    ]);
    const isOpen = at.getAttribute('aria-expanded');
    const press = () => (isOpen !== null || at.tagName === 'BUTTON' ? at.click() : undefined);
    const step = (/** @type {number} */ by) => all[all.indexOf(at) + by];
    /** @type {Record<string, () => HTMLElement | null | undefined | void>} */
    const keys = {
        ArrowDown: () => step(1),
        ArrowUp: () => step(-1),
        Home: () => all[0],
        End: () => all[all.length - 1],
        ArrowRight: () => (isOpen === 'false' ? at.click() : isOpen === 'true' ? step(1) : undefined),
        ArrowLeft: () =>
            isOpen === 'true'
                ? at.click()
                : /** @type {HTMLElement | null} */ (at.parentElement?.closest('[role="treeitem"]')),
        Enter: press,
        ' ': press,
    };
    const act = keys[event.key];
    if (!act) return;
    event.preventDefault();
    event.stopPropagation();
    const next = act();
    if (next) next.focus();
}
