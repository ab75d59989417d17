// @ts-check
// The dialog that asks for a new name of a notebook.

import { ask } from '../ui/dialog.js';
import { HOME_WORDS } from './home-words.js';

/**
 * @param {Pick<import('./notebooks-api.js').About, 'name' | 'is_open' | 'running'>} one
 * @param {(to: string) => Promise<string>} attempt renames it; see `ask`
 * @returns {Promise<string | null>} the name it has then; null if the user cancels
 */
export const askForName = ({ name, is_open, running }, attempt) =>
    ask({
        title: HOME_WORDS.renameAsk(name),
        why: HOME_WORDS.renameWhy(is_open, running),
        act: HOME_WORDS.renameDo,
        input: name,
        attempt: async (to) => (to === name ? '' : attempt(to)),
    });
