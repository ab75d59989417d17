// @ts-check
// The texts of what is done with images.

export const IMAGE_WORDS = Object.freeze({
    copied: 'Image copied.',
    notCopied: 'The browser does not let this page copy images. Save the image instead.',
    fullSize: 'Image at full size',
    close: 'Close',
});
