// @ts-check
// Announces texts to screen readers, in the page's one live region, `#said`.

/** @param {string} text '' clears the region and announces nothing */
export function announce(text) {
    const region = document.getElementById('said');
    if (!region) return;
    // A region announces changes only, so an equal text gets another, invisible ending.
    region.textContent = text && region.textContent === text ? `${text}\u00a0` : text;
}
