// @ts-check
// Keeps the element below the pointer or last touched, and the editor that the user types in, in
// place while outputs above them change their height or, on a phone, cells get their tools.
//
// An output may get its height long after its cell ran, because a frame loads a document first. A
// click aimed at a cell below must not land in that frame. So the notebook scrolls by the distance
// that the cell moved, before the browser paints the move. A key press suspends this until the
// pointer moves again, because a user who types looks at the focused cell.

/** The elements to keep in place, smallest first. */
const TARGETS = '.output, .editor, .cell';

/**
 * Keeps one element where it is on the screen while content above it changes its height.
 * @param {HTMLElement} main the scrolling element
 * @param {HTMLElement} notebook the growing content
 */
function keeper(main, notebook) {
    /** The element; its top within `main` and the scroll offset when noted. */
    let kept = /** @type {{target: Element, top: number, scrolled: number, end: number} | null} */ (null);
    const note = (/** @type {Element | null | undefined} */ target) => {
        kept = target ? { target, top: topOf(target), scrolled: main.scrollTop, end: endOf(main) } : null;
    };
    // A banner above moves all of `main`, and goes again.
    const topOf = (/** @type {Element} */ target) =>
        target.getBoundingClientRect().top - main.getBoundingClientRect().top;
    return {
        note,
        target: () => kept?.target,
        correct: () => {
            if (!kept?.target.isConnected) return note(null);
            const seen = topOf(kept.target) - kept.top;
            const { scrollTop } = main;
            // The browser scrolls back if the end of a shorter notebook would be above the bottom,
            // also if the notebook has become longer again since.
            const isClamped =
                scrollTop < kept.scrolled && kept.scrolled >= kept.end && endOf(main) !== kept.end;
            const laidOut = isClamped ? seen : seen + scrollTop - kept.scrolled;
            // Intended scrolling moves the element within `main`, but not within the content.
            if (seen * laidOut > 0)
                scrollBy(main, notebook, Math.sign(seen) * Math.min(Math.abs(seen), Math.abs(laidOut)));
            return note(kept.target);
        },
    };
}

/** The scroll offset at which the end of the content is in sight. @param {HTMLElement} main */
const endOf = (main) => main.scrollHeight - main.clientHeight - 1;

/**
 * @param {HTMLElement} main the scrolling element
 * @param {HTMLElement} notebook the growing content
 * @param {() => Element | null} editor the editor that the user types in
 * @returns {() => void} stops this
 */
export function keepPointerSteady(main, notebook, editor) {
    const pointed = keeper(main, notebook);
    const typed = keeper(main, notebook);
    const point = (/** @type {EventTarget | null} */ target) =>
        pointed.note(target instanceof Element ? target.closest(TARGETS) : null);
    const forget = () => pointed.note(null);
    const noteTyped = () => {
        const target = editor();
        const at = target?.getBoundingClientRect();
        const box = at && main.getBoundingClientRect();
        // A user who has scrolled away from the editor looks at something else.
        typed.note(box && at.bottom > box.top && at.top < box.bottom ? target : null);
    };

    const listening = new AbortController();
    const { signal } = listening;
    // The finger that taps a cell has left before the cell gets the focus and shows its tools.
    const isFinger = (/** @type {PointerEvent} */ event) => event.pointerType === 'touch';
    const moved = (/** @type {PointerEvent} */ event) => isFinger(event) || point(event.target);
    main.addEventListener('pointerdown', ({ target }) => point(target), { signal });
    main.addEventListener('pointermove', moved, { signal });
    // Inserting a cell moves those below it.
    const pressed = (/** @type {Event} */ { target }) =>
        target instanceof Element && target.closest('.insert') && forget();
    main.addEventListener('click', pressed, { signal, capture: true });
    // A frame receives all pointer moves; this page sees only that the pointer enters it. Layout
    // changes fire this event, too, so it must not start the tracking.
    main.addEventListener('pointerover', (event) => pointed.target() && moved(event), { signal });
    main.addEventListener('pointerleave', (event) => isFinger(event) || forget(), { signal });
    // A layout change may scroll, and the browser tells that before it observes sizes.
    const hold = () => {
        pointed.correct();
        if (typed.target() && typed.target() === editor()) typed.correct();
        noteTyped();
    };
    main.addEventListener('scroll', hold, { signal, passive: true });
    // A user who scrolls moves the editor, whatever the outputs do meanwhile.
    for (const scrolls of ['wheel', 'touchmove'])
        main.addEventListener(scrolls, () => typed.note(null), { signal, passive: true });
    // The page may give the focus back to the same editor, in another place.
    const focused = () => {
        pointed.correct();
        if (typed.target() !== editor()) noteTyped();
    };
    main.addEventListener('focusin', focused, { signal });
    main.addEventListener('input', () => typed.target() ?? noteTyped(), { signal });
    addEventListener('keydown', forget, { signal, capture: true });
    // Back, Forward and the graph show other cells. Called before the page shows them.
    const left = (/** @type {Event} */ { type, target }) => {
        if (type === 'click' && !(target instanceof Element && target.closest('.graph-pane'))) return;
        forget();
        typed.note(null);
        main.style.paddingBottom = '';
    };
    for (const leaves of ['popstate', 'click']) addEventListener(leaves, left, { signal, capture: true });

    const observer = new ResizeObserver(hold);
    observer.observe(notebook);
    return () => {
        listening.abort();
        observer.disconnect();
    };
}

/**
 * Does something, and keeps an element where it is on the screen.
 * @param {() => Element | null} find the element, before and after
 * @param {() => void} act
 */
export function keepInPlace(find, act) {
    const before = find()?.getBoundingClientRect().top;
    act();
    const element = find();
    const main = /** @type {HTMLElement | null | undefined} */ (element?.closest('main'));
    const notebook = /** @type {HTMLElement | null | undefined} */ (main?.querySelector('.notebook'));
    if (before === undefined || !element || !main || !notebook) return;
    scrollBy(main, notebook, element.getBoundingClientRect().top - before);
}

/**
 * Scrolls, and adds room below the notebook if it is too short.
 * @param {HTMLElement} main @param {HTMLElement} notebook @param {number} by in px
 */
function scrollBy(main, notebook, by) {
    // Less room may make the browser scroll.
    const to = main.scrollTop + by;
    const lacking = to + main.clientHeight - notebook.offsetHeight;
    main.style.paddingBottom = lacking > 0 ? `${Math.ceil(lacking)}px` : '';
    main.scrollTop = to;
}
