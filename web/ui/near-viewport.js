// @ts-check
// Reports when an element comes near the viewport, and when it goes away.

/** @type {WeakMap<Element, (isNear: boolean) => void>} */
const watching = new WeakMap();

const NEAR = '800px';

const observer = new IntersectionObserver(
    (entries) => {
        const inSightFirst = entries.toSorted((a, b) => Number(isInSight(b)) - Number(isInSight(a)));
        for (const { isIntersecting, target } of inSightFirst) watching.get(target)?.(isIntersecting);
    },
    // The cells are in a scroll container, to which `rootMargin` alone does not apply.
    { rootMargin: NEAR, scrollMargin: NEAR },
);

/** @param {IntersectionObserverEntry} entry */
const isInSight = ({ boundingClientRect: { top, bottom } }) => bottom > 0 && top < innerHeight;

/**
 * Calls `what` once, when the element comes near the viewport.
 * @param {Element} element
 * @param {() => void} what
 */
export function whenNear(element, what) {
    watchNear(element, (isNear) => {
        if (!isNear) return;
        unwatch(element);
        what();
    });
}

/**
 * Calls `what` whenever the element comes near the viewport or goes away.
 * @param {Element} element
 * @param {(isNear: boolean) => void} what
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
