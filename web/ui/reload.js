// @ts-check
// Whether this page was opened by a reload.

export const isReload = () => {
    const [opening] = performance.getEntriesByType('navigation');
    return /** @type {PerformanceNavigationTiming | undefined} */ (opening)?.type === 'reload';
};
