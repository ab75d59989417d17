// @ts-check
// The list of notebooks: says when the one that was asked for is not there, and makes new ones.

import { isOwner, openNotebook } from './links.js';
import { WORDS } from './words.js';

const find = (/** @type {string} */ id) => /** @type {HTMLElement} */ (document.getElementById(id));
const input = /** @type {HTMLInputElement} */ (find('name'));
const trouble = find('trouble');

const wanted = decodeURIComponent(location.pathname.match(/^\/n\/([^/]*)/)?.[1] ?? '');
if (wanted) {
    trouble.textContent = WORDS.noNotebook(wanted);
    document.title = trouble.textContent;
    input.value = wanted;
}

async function create() {
    const name = input.value.trim();
    if (!name) return input.focus();
    const { path, why } = await openNotebook(name).catch(() => ({ path: null, why: WORDS.createFailed }));
    if (path !== null) location.assign(path);
    else trouble.textContent = why;
}

find('create').addEventListener('click', create);
input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !event.isComposing) create();
});
isOwner().then((may) => {
    find('new').hidden = !may;
}, () => {});
