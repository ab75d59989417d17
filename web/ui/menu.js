// @ts-check
// A button that opens a list of actions. Arrow keys move through the list; Esc, or moving the focus
// away, closes it. Actions with an icon stand side by side above the others.

import { Component, html } from '../vendor/preact.js';

/**
 * @typedef {{text: string, hint?: string, words?: string, act: () => void, isBad?: boolean,
 *   isOff?: boolean, icon?: () => any} | null | false} Action `words`: other words by which the
 *   palette finds it; the hint of an action with an icon is its key; `isOff`: the hint says why it
 *   cannot be done now
 */

/** The room around a list, and the least height of a list that scrolls, in px. */
const GAP = 8;
const LEAST = 120;

/**
 * The available actions of a list.
 * @param {Action[]} actions
 * @returns {Exclude<Action, null | false>[]}
 */
export const availableActions = (actions) => actions.flatMap((action) => action || []);

/**
 * @extends {Component<{label: string, actions: Action[], close: (takesFocus: boolean) => void,
 *   alignEnd?: boolean, at?: {x: number, y: number}}, {}>}
 */
export class List extends Component {
    /** @type {HTMLElement | null} */
    element = null;

    componentDidMount() {
        this.#stayInside();
        // Scrolling would put another item below the pointer, which a double click then presses.
        const first = this.#items().find((item) => item.parentElement === this.element);
        first?.focus({ preventScroll: true });
    }

    /**
     * Moves a list that was opened at a point inside the window. Opens the list of a button upwards
     * if there is more room.
     */
    #stayInside() {
        const { element, props } = this;
        if (!element) return;
        if (!props.at) {
            const pane = element.closest('.cells-pane')?.getBoundingClientRect();
            const [top, bottom] = [pane?.top ?? 0, Math.min(pane?.bottom ?? innerHeight, innerHeight)];
            const list = element.getBoundingClientRect();
            const button = element.parentElement?.getBoundingClientRect() ?? list;
            const [above, below] = [button.top - top, bottom - button.bottom];
            const isUp = list.height + GAP > below && above > below;
            element.toggleAttribute('data-up', isUp);
            element.style.maxHeight = `${Math.max(LEAST, (isUp ? above : below) - GAP)}px`;
            return;
        }
        element.style.left = `${Math.max(8, Math.min(props.at.x, innerWidth - element.offsetWidth - 8))}px`;
        element.style.top = `${Math.max(8, Math.min(props.at.y, innerHeight - element.offsetHeight - 8))}px`;
    }

    #items() {
        return /** @type {HTMLElement[]} */ ([
            ...(this.element?.querySelectorAll('[role="menuitem"]') ?? []),
        ]);
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const items = this.#items();
        const at = items.indexOf(/** @type {HTMLElement} */ (document.activeElement));
        if (event.key === 'Escape') this.props.close(true);
        else if (event.key === 'ArrowDown' || event.key === 'ArrowRight')
            items[(at + 1) % items.length]?.focus();
        else if (event.key === 'ArrowUp' || event.key === 'ArrowLeft')
            items[(at + items.length - 1) % items.length]?.focus();
        else if (event.key === 'Home') items[0]?.focus();
        else if (event.key === 'End') items.at(-1)?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    /**
     * @param {{label: string, actions: Action[], close: (takesFocus: boolean) => void,
     *   alignEnd?: boolean, at?: {x: number, y: number}}} props
     */
    render({ label, actions, close, alignEnd, at }) {
        const choose = (/** @type {() => void} */ act) => () => {
            close(true);
            act();
        };
        const all = availableActions(actions);
        const icons = all.filter(({ icon }) => icon);
        return html`
            <div class="list" role="menu" aria-label=${label} data-align=${alignEnd ? 'end' : null}
                data-at=${at ? '' : null}
                ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)}>
                ${
                    icons.length > 0 &&
                    html`<div class="list-icons" role="group">${icons.map(
                        ({ text, hint, act, icon }) => html`
                        <button role="menuitem" tabindex="-1" aria-label=${text} title=${`${text} (${hint})`}
                            onClick=${choose(act)}>${icon?.()}</button>`,
                    )}</div>`
                }
                ${all.map(
                    ({ text, hint, act, isBad, isOff, icon }) =>
                        !icon &&
                        html`
                    <button role="menuitem" tabindex="-1" data-bad=${isBad ? '' : null}
                        aria-disabled=${isOff ? 'true' : null} onClick=${choose(act)}>
                        ${text}${hint && html` <small>${hint}</small>`}
                    </button>`,
                )}
            </div>`;
    }
}

/**
 * @typedef {{label: string, face: any, actions?: () => Action[],
 *   list?: (close: (takesFocus?: boolean) => void) => any, className?: string, alignEnd?: boolean,
 *   home?: () => HTMLElement | null}}
 *   MenuProps `list`: the list of actions, in place of `actions`; `home`: what gets the focus after
 *   the list, in place of the button
 */

/** @extends {Component<MenuProps, {isOpen: boolean}>} */
export class Menu extends Component {
    state = { isOpen: false };
    /** @type {HTMLElement | null} */
    element = null;

    open() {
        this.setState({ isOpen: true });
    }

    close = (takesFocus = false) => {
        this.setState({ isOpen: false });
        const home = takesFocus && (this.props.home?.() ?? this.element?.querySelector('button'));
        if (home) home.focus({ preventScroll: true });
    };

    /** @param {FocusEvent} event */
    #left(event) {
        if (!this.element?.contains(/** @type {Node | null} */ (event.relatedTarget))) this.close();
    }

    /** @param {MenuProps} props */
    render({ label, face, actions, list, className, alignEnd }) {
        const { isOpen } = this.state;
        return html`
            <div class="menu" ref=${(/** @type {HTMLElement | null} */ element) => (this.element = element)}
                onFocusOut=${(/** @type {FocusEvent} */ event) => this.#left(event)}>
                <button class=${className ?? 'button'} aria-haspopup="menu"
                    aria-expanded=${isOpen ? 'true' : 'false'} aria-label=${label} title=${label}
                    onClick=${() => (isOpen ? this.close(true) : this.open())}>${face}</button>
                ${
                    isOpen &&
                    (list?.(this.close) ??
                        html`<${List} label=${label} actions=${actions?.() ?? []} alignEnd=${alignEnd}
                        close=${this.close} />`)
                }
            </div>`;
    }
}
