// @ts-check
// The entry of the list of notebooks.

import { isOwner } from './share/share-links.js';
import { list } from './home/notebooks-api.js';
import { listTerminals } from './terminal/terminals-api.js';
import { h, render } from './vendor/preact.js';
import { Home } from './home/notebook-list.js';
import { NOTEBOOK_WORDS } from './home/notebook-words.js';
import { WORDS } from './shell/words.js';
import { serverPath } from './shell/server-path.js';

const element = /** @type {HTMLElement} */ (document.getElementById('home'));

// The address may name a missing notebook; the page then says so above the list.
const [place, name = ''] = location.pathname.split('/').slice(serverPath('').split('/').length);
const wanted = place === 'n' ? decodeURIComponent(name) : '';
if (wanted) document.title = WORDS.noNotebook(wanted);
const said = wanted ? { text: WORDS.noNotebook(wanted), isBad: true } : null;

const owned = isOwner();
const terminals = owned.then((is) => (is ? listTerminals().catch(() => null) : null));

Promise.all([list(), owned, terminals]).then(
    ([all, owner, open]) => {
        element.replaceChildren();
        render(h(Home, { all, isOwner: owner, terminals: open, said, wanted }), element);
        element.removeAttribute('aria-busy');
    },
    () => {
        const trouble = document.createElement('p');
        trouble.className = 'said';
        trouble.setAttribute('role', 'alert');
        trouble.textContent = NOTEBOOK_WORDS.failed;
        element.append(trouble);
        element.removeAttribute('aria-busy');
    },
);
