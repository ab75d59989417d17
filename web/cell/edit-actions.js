// @ts-check
// The changes of a cell's place and size, as icons at the top of its menu: the same for every cell,
// and for the selected ones.

import { EDITOR_WORDS as WORDS } from '../editor/editor-words.js';
import { CopyIcon, icon } from '../ui/icons.js';

const AboveIcon = icon('M8 2.5v5M5.5 5h5M2.5 10h11v3.5h-11z');
const BelowIcon = icon('M8 8.5v5M5.5 11h5M2.5 2.5h11V6h-11z');
const CutIcon = icon(
    'M4 2.5 10.2 10M12 2.5 5.8 10M6.2 11.7a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0' +
        'M13.2 11.7a1.7 1.7 0 1 1-3.4 0 1.7 1.7 0 0 1 3.4 0',
);
const PasteIcon = icon('M5.5 3.5h-2v10h9v-10h-2M5.5 2.5h5v2.5h-5z');
const DuplicateIcon = icon('M5.5 5.5h8v8h-8zM5.5 10.5h-3v-8h8v3M9.5 7.5v4M7.5 9.5h4');
const MoveUpIcon = icon('M8 13V3.5M4 7.5l4-4 4 4');
const MoveDownIcon = icon('M8 3v9.5M4 8.5l4 4 4-4');
const SplitIcon = icon('M2.5 8h11M8 6V2.5M6 4.5l2-2 2 2M8 10v3.5M6 11.5l2 2 2-2');
const MergeIcon = icon('M2.5 8h11M8 2v4M6 4l2 2 2-2M8 14v-4M6 12l2-2 2 2');

/**
 * @param {import('./edit-commands.js').EditCommands} edits
 * @param {import('./cell.js').Cell} view
 * @returns {import('../ui/menu.js').Action[]}
 */
export const editActions = (edits, view) => [
    { text: WORDS.above, hint: 'A', icon: AboveIcon, act: () => edits.insert(view, 'above', false) },
    { text: WORDS.below, hint: 'B', icon: BelowIcon, act: () => edits.insert(view, 'below', false) },
    { text: WORDS.cut, hint: 'X', icon: CutIcon, act: () => edits.cut(view) },
    { text: WORDS.copy, hint: 'C', icon: CopyIcon, act: () => edits.copy(view) },
    edits.copied.length > 0 && {
        text: WORDS.paste,
        hint: 'V',
        icon: PasteIcon,
        act: () => edits.paste(view, 'below'),
    },
    {
        text: WORDS.duplicate,
        hint: 'Alt-Shift-↓',
        icon: DuplicateIcon,
        act: () => edits.duplicate(view),
    },
    { text: WORDS.moveUp, hint: 'Ctrl-Shift-↑', icon: MoveUpIcon, act: () => edits.move(view, -1) },
    { text: WORDS.moveDown, hint: 'Ctrl-Shift-↓', icon: MoveDownIcon, act: () => edits.move(view, 1) },
    isCuttable(view) && {
        text: WORDS.split,
        hint: 'Ctrl-Shift-−',
        icon: SplitIcon,
        act: () => edits.split(view),
    },
    { text: WORDS.merge, hint: 'Shift-M', icon: MergeIcon, act: () => edits.merge(view) },
];

/** Whether the cursor of a cell is inside its text. @param {import('./cell.js').Cell} view */
function isCuttable({ editor }) {
    const { selection, doc } = editor?.view?.state ?? {};
    return selection !== undefined && selection.main.to > 0 && selection.main.from < (doc?.length ?? 0);
}
