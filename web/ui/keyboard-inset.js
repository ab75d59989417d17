// @ts-check
// Shrinks the page to the height that an on-screen keyboard leaves, so that the keyboard never
// covers the focused cell.

/** From this scale on, the page counts as zoomed and keeps its height. */
const ZOOMED = 1.05;

/** Follows the visual viewport. */
export function trackKeyboardInset() {
    const visible = window.visualViewport;
    if (!visible) return;
    const fit = () => {
        const isCovered = visible.scale < ZOOMED && visible.height < innerHeight - 1;
        if (isCovered) document.documentElement.style.setProperty('--height', `${visible.height}px`);
        else document.documentElement.style.removeProperty('--height');
        // Some browsers scroll the whole page up when the keyboard opens: scroll it back.
        if (isCovered) scrollTo(0, 0);
        const at = document.activeElement;
        if (at?.closest('main'))
            (
                at.closest('.cm-editor')?.querySelector('.cm-activeLine, .cm-cursor-primary') ?? at
            ).scrollIntoView({ block: 'nearest' });
    };
    visible.addEventListener('resize', fit);
}
