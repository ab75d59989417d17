// @ts-check
// The dialog *Deleted states*: lists what was deleted, newest first, and restores it.

import { Component, html } from '../vendor/preact.js';
import { ago } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { WORDS as ALL } from '../shell/words.js';
import { deletedNames } from './deleted-names.js';
import { listDeleted } from './trash-api.js';
import { TRASH_WORDS as WORDS } from './trash-words.js';

/** @typedef {import('./trash-api.js').DeletionItem} DeletionItem */
/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {{page: Page, done: (answer: string | null) => void}} Props */

/** The number of lines shown of one deletion. */
const SHOWN = 4;

/** The state or run that stands for a deletion. @param {DeletionItem} item */
const idOf = ({ states, runs }) => states[0]?.id ?? runs[0]?.exec_id ?? '';

/** Shows the dialog. @param {Page} page */
export async function showTrash(page) {
    // Sends the pending deletion now, so that the list is complete.
    await page.deletion.commit();
    await show((done) => html`<${TrashDialog} page=${page} done=${done} />`, 'trash');
}

/**
 * `restored`: the deletions that were undone since the dialog opened.
 * @extends {Component<Props, {items: DeletionItem[] | null, failed: boolean,
 *   restored: Set<DeletionItem>}>}
 */
class TrashDialog extends Component {
    state = {
        items: /** @type {DeletionItem[] | null} */ (null),
        failed: false,
        restored: /** @type {Set<DeletionItem>} */ (new Set()),
    };

    componentDidMount() {
        void this.#load();
    }

    async #load() {
        const { name } = this.props.page.model;
        try {
            this.setState({ items: await listDeleted(name), failed: false });
        } catch {
            this.setState({ items: [], failed: true });
        }
    }

    /** @param {DeletionItem} item */
    async #restore(item) {
        if (!(await this.props.page.deletion.restore(idOf(item)))) return;
        this.setState(({ restored }) => ({ restored: new Set(restored).add(item) }));
    }

    /** @param {DeletionItem} item */
    #goTo(item) {
        const { page, done } = this.props;
        done(null);
        page.deletion.goBack(idOf(item));
    }

    async #empty() {
        const { page, done } = this.props;
        done(null);
        const isSure = await page.host.ask({
            title: WORDS.emptyAsk,
            why: WORDS.emptyWhy,
            act: WORDS.emptyDo,
            isBad: true,
        });
        if (!isSure) return;
        const reply = await page.host.send({ do: 'empty_trash' });
        if (reply.kind === 'refused') page.reportRefusal(reply);
        else page.notify(WORDS.emptied, false);
    }

    /** @param {DeletionItem} item @param {string[]} lines the names of what was deleted */
    #row(item, lines) {
        const time = new Date(item.at).toLocaleString();
        const what = WORDS.counted(item.states.length, item.runs.length);
        const of = `${what}: ${lines[0] ?? ''}`;
        const isBack = this.state.restored.has(item);
        return html`
            <li key=${item.at}>
                <div>
                    <p><b>${what}</b> <span title=${time}>${ago(item.at, Date.now())}</span></p>
                    ${lines.slice(0, SHOWN).map((line) => html`<code>${line}</code>`)}
                    ${lines.length > SHOWN && html`<small>${WORDS.more(lines.length - SHOWN)}</small>`}
                </div>
                ${
                    isBack
                        ? html`<div class="restored"><span role="status">${WORDS.restored}</span>
                        ${
                            item.states.length > 0 &&
                            html`<button class="text-button" aria-label=${WORDS.goToOf(of)}
                                onClick=${() => this.#goTo(item)}>${WORDS.goTo}</button>`
                        }</div>`
                        : html`<button class="button" aria-label=${WORDS.restoreOf(of)}
                    onClick=${() => this.#restore(item)}>${WORDS.restore}</button>`
                }
            </li>`;
    }

    /** @param {Props} props @param {TrashDialog['state']} state */
    render({ done }, { items, failed }) {
        const names = deletedNames(items ?? []);
        const said = items === null ? WORDS.loading : failed ? WORDS.unreachable : WORDS.none;
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why}</p>
            ${
                items?.length
                    ? html`<ul class="deletions">${items.map((item, i) => this.#row(item, names[i] ?? []))}</ul>`
                    : html`<p role="status">${said}</p>`
            }
            <div class="answers">
                ${
                    items?.length
                        ? html`<button class="button" data-bad data-other
                            onClick=${() => this.#empty()}>${WORDS.empty}</button>`
                        : null
                }
                <button class="button" data-main onClick=${() => done(null)}>${ALL.close}</button>
            </div>`;
    }
}
