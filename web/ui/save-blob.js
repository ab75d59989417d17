// @ts-check
// Saves data as a file of the user.

/**
 * @param {BlobPart[]} parts
 * @param {string} name of the file
 */
export function saveBlob(parts, name) {
    // Saved without a type, so that the browser never opens it here.
    const url = URL.createObjectURL(new Blob(parts, { type: 'application/octet-stream' }));
    Object.assign(document.createElement('a'), { href: url, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
