// @ts-check
// A token typed by hand goes the way of a link: the server exchanges it and the address bar is cleaned.

const input = /** @type {HTMLInputElement} */ (document.getElementById('token'));
const button = /** @type {HTMLButtonElement} */ (document.getElementById('open'));

function open() {
    // People paste the whole link, too.
    const text = input.value.trim();
    const token = text.match(/[?&]token=([^&#]+)/)?.[1] ?? encodeURIComponent(text);
    if (token) location.replace(`${location.pathname}?token=${token}${location.hash}`);
}

button.addEventListener('click', open);
input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') open();
});
