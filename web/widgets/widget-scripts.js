// @ts-check
// The code and style of widgets, as texts for the frames that show them. Fetched with the first
// widget, and kept.

/** @typedef {{vendor: string, manager: string, style: string}} Scripts */

/** @type {Promise<Scripts> | null} */
let found = null;

/** @returns {Promise<Scripts>} rejects without a connection; a later call may succeed */
export function widgetScripts() {
    found ??= fetchAll().catch((error) => {
        found = null;
        throw error;
    });
    return found;
}

async function fetchAll() {
    const texts = await Promise.all(
        ['vendor/widgets.js', 'widgets/in-frame.js', 'vendor/widgets.css', 'widgets/in-frame.css'].map(text),
    );
    const [vendor = '', manager = '', style = '', own = ''] = texts;
    return { vendor, manager, style: `${style}\n${own}` };
}

/** @param {string} path below the page's files */
async function text(path) {
    const entry = /** @type {HTMLScriptElement | null} */ (
        document.querySelector('script[type="module"][src$="/notebook.js"]')
    );
    const answer = await fetch(new URL(path, entry?.src));
    if (!answer.ok) throw new Error(`${path} could not be loaded`);
    return answer.text();
}
