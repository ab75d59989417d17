// @ts-check
// What the pointer is on stays under it while outputs above it change their height.
//
// An output may get its height long after its cell ran: a frame is a document that loads first. A
// click that is aimed at a cell below must not land in that frame. So the notebook scrolls by as
// much as the cell moved, before the move is painted. A key ends this until the pointer moves
// again: someone who types looks at the cell that has the focus.

/** What the pointer can be on, the smallest first. */
const TARGETS = '.output, .editor, .cell';

/**
 * @param {HTMLElement} main what scrolls
 * @param {HTMLElement} notebook what grows
 * @returns {() => void} ends it
 */
export function keepPointerSteady(main, notebook) {
    /** What the pointer is on, its top on the screen, and how far `main` was scrolled then. */
    let pointed = /** @type {{target: Element, top: number, scrolled: number} | null} */ (null);

    const note = (/** @type {Element | null | undefined} */ target) => {
        pointed = target
            ? { target, top: target.getBoundingClientRect().top, scrolled: main.scrollTop }
            : null;
    };
    const forget = () => (pointed = null);

    const listening = new AbortController();
    const { signal } = listening;
    const moved = (/** @type {PointerEvent} */ { target, pointerType }) => {
        const isOn = pointerType !== 'touch' && target instanceof Element;
        note(isOn ? target.closest(TARGETS) : null);
    };
    main.addEventListener('pointermove', moved, { signal });
    // A frame takes all moves; only that the pointer comes to it is seen here. Layout fires this
    // event, too, which is no reason to begin.
    main.addEventListener('pointerover', (event) => pointed && moved(event), { signal });
    main.addEventListener('pointerleave', forget, { signal });
    main.addEventListener('scroll', () => note(pointed?.target), { signal, passive: true });
    addEventListener('keydown', forget, { signal, capture: true });

    const observer = new ResizeObserver(() => {
        if (!pointed?.target.isConnected) return forget();
        const seen = pointed.target.getBoundingClientRect().top - pointed.top;
        const laidOut = seen + main.scrollTop - pointed.scrolled;
        // Whatever else scrolls on purpose has done so already.
        if (seen * laidOut > 0)
            scrollBy(main, notebook, Math.sign(seen) * Math.min(Math.abs(seen), Math.abs(laidOut)));
        note(pointed.target);
        return undefined;
    });
    observer.observe(notebook);
    return () => {
        listening.abort();
        observer.disconnect();
    };
}

/**
 * Scrolls, with room for it below the notebook where there is none.
 *
 * @param {HTMLElement} main @param {HTMLElement} notebook @param {number} by in px
 */
function scrollBy(main, notebook, by) {
    const lacking = main.scrollTop + by + main.clientHeight - notebook.offsetHeight;
    main.style.paddingBottom = lacking > 0 ? `${Math.ceil(lacking)}px` : '';
    main.scrollTop += by;
}
