// @ts-check
// Reports when an element comes near the viewport, and when it goes away.

/**
 * @typedef {(() => void) | void} Change What a function that is called for an element may return. It
 *   is called once the functions of all elements that came near at the same time have been called,
 *   so that none of these waits for the layout of what another has changed.
 */

/** @type {WeakMap<Element, (isNear: boolean, isInSight: boolean) => Change>} */
const watching = new WeakMap();

const NEAR = '800px';

const observer = new IntersectionObserver(
    (entries) => {
        const changes = entries.map((entry) =>
            watching.get(entry.target)?.(entry.isIntersecting, isInSight(entry)),
        );
        for (const change of changes) change?.();
    },
    // The cells are in a scroll container, to which `rootMargin` alone does not apply.
    { rootMargin: NEAR, scrollMargin: NEAR },
);

/** @param {IntersectionObserverEntry} entry */
const isInSight = ({ boundingClientRect: { top, bottom } }) => bottom > 0 && top < innerHeight;

/**
 * Calls `what` once, when the element comes near the viewport.
 * @param {Element} element
 * @param {(isInSight: boolean) => Change} what
 */
export function whenNear(element, what) {
    watchNear(element, (isNear, isInSight) => {
        if (!isNear) return undefined;
        unwatch(element);
        return what(isInSight);
    });
}

/**
 * Calls `what` whenever the element comes near the viewport or goes away.
 * @param {Element} element
 * @param {(isNear: boolean, isInSight: boolean) => Change} what
 */
export function watchNear(element, what) {
    watching.set(element, what);
    observer.observe(element);
}

/** @param {Element} element */
export function unwatch(element) {
    watching.delete(element);
    observer.unobserve(element);
}
