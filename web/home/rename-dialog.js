// @ts-check
// The dialog that asks for a new name of a notebook.

import { ask } from '../ui/dialog.js';
import { HOME_WORDS } from './home-words.js';

/** What the closing of an open notebook means. @param {string[]} [lost] */
const closes = (lost) => HOME_WORDS.closes + HOME_WORDS.lost(lost);

/**
 * @param {Pick<import('./notebooks-api.js').About, 'name' | 'is_open' | 'running'>
 *   & {lost?: string[]}} one `lost`: the variables that cannot be saved; absent if not known
 * @param {(to: string) => Promise<string>} attempt renames it; see `ask`
 * @returns {Promise<string | null>} the name it has then; null if the user cancels
 */
export const askForName = ({ name, is_open, running, lost }, attempt) =>
    ask({
        title: HOME_WORDS.renameAsk(name),
        why: HOME_WORDS.renameWhy(is_open ? closes(lost) : '', running),
        act: HOME_WORDS.renameDo,
        input: name,
        attempt: async (to) => (to === name ? '' : attempt(to)),
    });
