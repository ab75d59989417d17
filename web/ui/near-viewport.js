// @ts-check
// Reports when an element comes near the viewport, and when it goes away.

/** @type {WeakMap<Element, (isNear: boolean, isInSight: boolean) => void>} */
const watching = new WeakMap();

const NEAR = '800px';

const observer = new IntersectionObserver(
    (entries) => {
        for (const entry of entries) watching.get(entry.target)?.(entry.isIntersecting, isInSight(entry));
    },
    // The cells are in a scroll container, to which `rootMargin` alone does not apply.
    { rootMargin: NEAR, scrollMargin: NEAR },
);

/** @param {IntersectionObserverEntry} entry */
const isInSight = ({ boundingClientRect: { top, bottom } }) => bottom > 0 && top < innerHeight;

/**
 * Calls `what` once, when the element comes near the viewport.
 * @param {Element} element
 * @param {(isInSight: boolean) => void} what
 */
export function whenNear(element, what) {
    watchNear(element, (isNear, isInSight) => {
        if (!isNear) return;
        unwatch(element);
        what(isInSight);
    });
}

/**
 * Calls `what` whenever the element comes near the viewport or goes away.
 * @param {Element} element
 * @param {(isNear: boolean, isInSight: boolean) => void} what
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
