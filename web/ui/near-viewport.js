// @ts-check
// Does something when an element comes near the visible part of the page, and when it goes away from it.

/** @type {WeakMap<Element, (isNear: boolean) => void>} */
const watching = new WeakMap();

const observer = new IntersectionObserver(
    (entries) => {
        for (const { isIntersecting, target } of entries) watching.get(target)?.(isIntersecting);
    },
    { rootMargin: '800px' },
);

/** Once, when it comes near. @param {Element} element @param {() => void} what */
export function whenNear(element, what) {
    watchNear(element, (isNear) => {
        if (!isNear) return;
        unwatch(element);
        what();
    });
}

/** Each time. @param {Element} element @param {(isNear: boolean) => void} what */
export function watchNear(element, what) {
    watching.set(element, what);
    observer.observe(element);
}

/** @param {Element} element */
export function unwatch(element) {
    watching.delete(element);
    observer.unobserve(element);
}
