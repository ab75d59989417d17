// Globals of the page that test code uses.

interface Window {
    axe: any;
    /** The longest task or frame so far, in milliseconds. */
    longest: number;
    /** The keys of the cells that were rendered. */
    rendered: string[];
    sentCommands: string[];
    distances: Set<number>;
    frame: Element;
    evil?: unknown;
    isAway: boolean;
    /** Titles and bodies of the notifications. */
    notifications: [string, string][];
    /** The last notification. */
    shown: Notification;
}

/** Added to the page by tests/bench/page.mjs. */
declare var bench: any;

interface ParentNode {
    querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
    querySelectorAll<K extends keyof HTMLElementTagNameMap>(selectors: K): NodeListOf<HTMLElementTagNameMap[K]>;
    querySelector<E extends Element = HTMLElement>(selectors: string): E | null;
    querySelectorAll<E extends Element = HTMLElement>(selectors: string): NodeListOf<E>;
}

interface Element {
    /** The editor of CodeMirror. */
    cmTile?: any;
}
