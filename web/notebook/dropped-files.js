// @ts-check
// What the notebook page does with files that are dropped on it.

import * as notebooks from '../home/notebooks-api.js';
import { NOTEBOOK_WORDS } from '../home/notebook-words.js';
import { DROPPED_WORDS } from './dropped-words.js';
import { withPart } from '../shell/lazy-parts.js';
import { serverPath } from '../shell/server-path.js';

/**
 * Takes files that were dropped on a notebook: on the files pane they are uploaded; elsewhere the
 * page offers to import or upload them.
 * @param {import('./page.js').Page} page
 * @param {File[]} files
 * @param {boolean} isOnFiles whether they were dropped on the files pane
 * @param {string[]} folders
 */
export function takeDropped(page, files, isOnFiles, folders) {
    const [folder] = folders;
    if (!files.length) return folder && page.notify(DROPPED_WORDS.droppedFolder(folder), true);
    const names = files.map(({ name }) => name);
    if (page.scope === 'view')
        return page.notify(DROPPED_WORDS.droppedByGuest(names), false, { stays: true });
    const upload = () =>
        void withPart('files', page, ({ uploadTo }) => (page.files.show(true), uploadTo(page, files)));
    if (isOnFiles) return upload();
    // A guest of one notebook makes no others.
    const mayImport = page.scope === 'owner';
    const fitting = files.filter(({ name }) => mayImport && notebooks.isNotebookFile(name));
    const offer = { text: DROPPED_WORDS.uploadIt(files.length), act: upload };
    const large = fitting.find(({ size }) => size > notebooks.MAX_FILE_BYTES);
    if (!fitting.length || large)
        return page.notify(
            large ? NOTEBOOK_WORDS.tooLarge(large.name) : DROPPED_WORDS.droppedOther(names),
            false,
            {
                stays: true,
                act: offer,
            },
        );
    return page.notify(DROPPED_WORDS.dropped(fitting.map(({ name }) => name)), false, {
        stays: true,
        act: { text: DROPPED_WORDS.importIt(fitting.length), act: () => void importAll(page, fitting) },
        other: offer,
    });
}

/** @param {import('./page.js').Page} page @param {File[]} files */
async function importAll(page, files) {
    try {
        page.notify(NOTEBOOK_WORDS.importing(files[0]?.name ?? ''), false, { stays: true });
        const { made, leftOut } = await notebooks.importFiles(files, () => {});
        const [first, second] = made;
        const open = () => location.assign(first && !second ? notebooks.notebookAt(first) : serverPath('/'));
        if (!leftOut.length) return open();
        return page.notify(`${NOTEBOOK_WORDS.imported(made)} ${NOTEBOOK_WORDS.leftOut(leftOut)}`, false, {
            stays: true,
            act: { text: NOTEBOOK_WORDS.openIt(made.length), act: open },
        });
    } catch (error) {
        return page.notify(error instanceof notebooks.Refusal ? error.message : NOTEBOOK_WORDS.failed, true);
    }
}
