// @ts-check
// What an on-screen keyboard leaves of the window: the page takes just that, so that no cell that is typed into lies
// behind the keyboard.

/** A page that was zoomed into is not a smaller page. */
const ZOOMED = 1.05;

/** Follows the visible part of the window from now on. */
export function trackKeyboardInset() {
    const visible = window.visualViewport;
    if (!visible) return;
    const fit = () => {
        const isCovered = visible.scale < ZOOMED && visible.height < innerHeight - 1;
        if (isCovered) document.documentElement.style.setProperty('--height', `${visible.height}px`);
        else document.documentElement.style.removeProperty('--height');
        // Some browsers move the whole page up instead.
        if (isCovered) scrollTo(0, 0);
        const at = document.activeElement;
        if (at?.closest('main'))
            (
                at.closest('.cm-editor')?.querySelector('.cm-activeLine, .cm-cursor-primary') ?? at
            ).scrollIntoView({ block: 'nearest' });
    };
    visible.addEventListener('resize', fit);
}
