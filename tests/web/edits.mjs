// The commands that change cells, on a page without a browser.

import { EditCommands } from '../../web/cell/edit-commands.js';

/** Each call reads the steps that the tab has kept, as a reload does. */
export function editsOf(page) {
    const focus = { go: () => {} };
    const selected = { announce: () => {}, with: (view) => [view] };
    return new EditCommands(
        page,
        /** @type {any} */ (focus),
        /** @type {any} */ (selected),
        /** @type {any} */ ({}),
    );
}
