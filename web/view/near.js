// @ts-check
// Does something once an element comes near the visible part of the page: editors and frames are made only then.

/** @type {WeakMap<Element, () => void>} */
const waiting = new WeakMap();

const observer = new IntersectionObserver((entries) => {
    for (const { isIntersecting, target } of entries) {
        if (!isIntersecting) continue;
        observer.unobserve(target);
        waiting.get(target)?.();
        waiting.delete(target);
    }
}, { rootMargin: '800px' });

/** @param {Element} element @param {() => void} what */
export function whenNear(element, what) {
    waiting.set(element, what);
    observer.observe(element);
}
