// @ts-check
// The entry of the list of notebooks.

import { isOwner } from './share/share-links.js';
import { list } from './home/notebooks-api.js';
import { h, render } from './vendor/preact.js';
import { Home } from './home/notebook-list.js';
import { HOME_WORDS } from './home/home-words.js';
import { WORDS } from './shell/words.js';

const element = /** @type {HTMLElement} */ (document.getElementById('home'));

// The address may name a missing notebook; the page then says so above the list.
const wanted = decodeURIComponent(location.pathname.match(/^\/n\/([^/]*)/)?.[1] ?? '');
if (wanted) document.title = WORDS.noNotebook(wanted);
const said = wanted ? { text: WORDS.noNotebook(wanted), isBad: true } : null;

Promise.all([list(), isOwner()]).then(
    ([all, owner]) => {
        element.replaceChildren();
        render(h(Home, { all, isOwner: owner, said, wanted }), element);
        element.removeAttribute('aria-busy');
    },
    () => {
        const trouble = document.createElement('p');
        trouble.className = 'said';
        trouble.setAttribute('role', 'alert');
        trouble.textContent = HOME_WORDS.failed;
        element.append(trouble);
        element.removeAttribute('aria-busy');
    },
);
