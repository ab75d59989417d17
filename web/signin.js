// @ts-check
// Opens the link with the pasted token. The server exchanges the token for a session cookie.

const input = /** @type {HTMLInputElement} */ (document.getElementById('token'));
const button = /** @type {HTMLButtonElement} */ (document.getElementById('open'));

function open() {
    // Users also paste the whole link.
    const text = input.value.trim();
    const token = text.match(/[?&]token=([^&#]+)/)?.[1] ?? encodeURIComponent(text);
    if (token) location.replace(`${location.pathname}?token=${token}${location.hash}`);
}

button.addEventListener('click', open);
input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') open();
});
