// @ts-check
// The dialog *Take variables*: copies variables of one state into a new child of another. The
// server plans first (`dry_run`); the user decides for each group of variables that differ.

import { comparedNames } from '../compare/state-names.js';
import { fullName } from '../graph/node-names.js';
import { WORDS as ALL } from '../shell/words.js';
import { newId } from '../text/format.js';
import { show } from '../ui/dialog.js';
import { WarningIcon, icon } from '../ui/icons.js';
import { Component, html } from '../vendor/preact.js';
import { groupsOf, resolveOf, takenCount, undecided, shownValue } from './take-plan.js';
import { TAKE_WORDS as WORDS } from './take-words.js';

const SwapIcon = icon('M5 2.5 2.5 5 5 7.5M2.5 5h9M11 8.5l2.5 2.5-2.5 2.5M13.5 11h-9');

/** @typedef {import('../notebook/page.js').Page} Page */
/** @typedef {import('./take-plan.js').Group} Group */
/** @typedef {import('./take-plan.js').Choice} Choice */
/**
 * @typedef {object} TakeProps
 * @property {Page} page
 * @property {string} ours the state that the variables are taken into
 * @property {string} theirs the state that they are taken from
 * @property {string | null} named the variable that the user has pointed at
 * @property {(answer: string | null) => void} done called with the id of the new state
 */
/**
 * @typedef {object} TakeState
 * @property {string} ours
 * @property {string} theirs
 * @property {Group[] | null} groups null while the server compares
 * @property {string[]} warnings
 * @property {string} problem '' if there is none
 * @property {boolean} isTaking
 */

/**
 * Asks which variables to take, takes them and goes to the new state.
 * @param {Page} page
 * @param {string} ours
 * @param {string} theirs
 * @param {string | null} [named] a variable: only its group is chosen
 */
export async function takeVariables(page, ours, theirs, named = null) {
    const state = await show(
        (done) => html`<${TakeDialog} page=${page} ours=${ours} theirs=${theirs} named=${named}
            done=${done} />`,
        'take',
    );
    if (state === null) return;
    page.comparison.close();
    page.goTo(state);
}

/** @extends {Component<TakeProps, TakeState>} */
class TakeDialog extends Component {
    /** @type {TakeState} */
    state = {
        ours: this.props.ours,
        theirs: this.props.theirs,
        groups: null,
        warnings: [],
        problem: '',
        isTaking: false,
    };
    /** Of the last request: earlier answers are ignored. */
    asked = 0;

    componentDidMount() {
        this.#plan();
    }

    /** Asks the server what differs. */
    async #plan() {
        const { page, named } = this.props;
        const { ours, theirs } = this.state;
        this.asked += 1;
        const { asked } = this;
        this.setState({ groups: null, problem: '' });
        for (const state of [ours, theirs])
            page.variables.fetchVariables(state).then(() => this.setState({}));
        const reply = await page.host.send({ ...this.#command(), dry_run: true });
        if (asked !== this.asked) return;
        if (reply.kind === 'merge_planned')
            this.setState({ groups: groupsOf(reply.plan, named), warnings: reply.plan.warnings });
        else this.setState({ groups: [], problem: reply.kind === 'refused' ? ALL.refused(reply) : '' });
    }

    #command() {
        const { ours, theirs, groups } = this.state;
        return /** @type {const} */ ({
            do: 'merge',
            exec_id: newId(),
            into: ours,
            from: theirs,
            take: 'changed',
            on_conflict: 'refuse',
            resolve: resolveOf(groups ?? []),
        });
    }

    async #take() {
        this.setState({ isTaking: true, problem: '' });
        const reply = await this.props.page.host.send(this.#command());
        if (reply.kind === 'ended' && reply.state) return this.props.done(reply.state);
        const why = reply.kind === 'refused' ? reply.why : reply.kind === 'ended' ? reply.error?.evalue : '';
        this.setState({ isTaking: false, problem: WORDS.failed(why ?? '') });
    }

    #swap() {
        const { ours, theirs } = this.state;
        this.setState({ ours: theirs, theirs: ours }, () => this.#plan());
    }

    /** @param {number} at @param {Choice} choice */
    #choose(at, choice) {
        const groups = this.state.groups?.map((group, i) => (i === at ? { ...group, choice } : group));
        this.setState({ groups: groups ?? null });
    }

    /** @param {TakeProps} props @param {TakeState} state */
    render({ done }, { ours, theirs, groups, warnings, problem, isTaking }) {
        const { page } = this.props;
        const states = [theirs, ours].flatMap((id) => page.model.states.get(id) ?? []);
        const [from, into] = comparedNames(page, states).map(fullName);
        const [open, count] = [undecided(groups ?? []), takenCount(groups ?? [])];
        return html`
            <h2>${WORDS.title}</h2>
            <p>${WORDS.why}</p>
            <div class="take-states">
                <p>${WORDS.from} <b>${from}</b></p>
                <p>${WORDS.into} <b>${into}</b></p>
                <button class="tool" aria-label=${WORDS.swap} title=${WORDS.swap}
                    onClick=${() => this.#swap()}><${SwapIcon} /></button>
            </div>
            <div class="take-groups" aria-busy=${groups === null}>
                ${
                    groups === null
                        ? html`<p class="hint" role="status">${WORDS.comparing}</p>`
                        : groups.length === 0 && !problem
                          ? html`<p>${WORDS.nothing}</p>`
                          : groups.map((group, at) => this.#row(group, at))
                }
            </div>
            ${warnings.map((text) => html`<p class="warning"><${WarningIcon} /><span>${text}</span></p>`)}
            <p class="take-problem" role="alert">${problem}</p>
            <div class="answers">
                ${open > 0 && html`<span class="hint" data-other>${WORDS.undecided(open)}</span>`}
                <button class="button" autofocus onClick=${() => done(null)}>${ALL.cancel}</button>
                <button class="button" data-main disabled=${open > 0 || count === 0 || isTaking}
                    onClick=${() => this.#take()}>${WORDS.act(count)}</button>
            </div>`;
    }

    /** @param {Group} group @param {number} at */
    #row({ names, isConflict, choice }, at) {
        /** @type {[Choice, string][]} */
        const choices = [
            ['theirs', WORDS.take],
            ['ours', WORDS.leave],
        ];
        // Both can be kept only if both states have it.
        const isInBoth = (/** @type {string} */ name) => !this.#values(name).includes(null);
        if (names.some(isInBoth)) choices.push(['rename', WORDS.rename(names)]);
        return html`<fieldset key=${names.join()} data-conflict=${isConflict ? '' : null}
            aria-label=${WORDS.choice(names.join(', '))}>
            ${names.map((name) => this.#variable(name))}
            ${names.length > 1 && html`<p class="hint">${WORDS.together}</p>`}
            <div class="take-choices">
                ${isConflict && html`<span class="take-conflict">${WORDS.conflict}</span>`}
                ${choices.map(
                    ([value, text]) => html`<label><input type="radio" name=${`take-${at}`}
                    checked=${choice === value} onChange=${() => this.#choose(at, value)} /> ${text}</label>`,
                )}
            </div>
        </fieldset>`;
    }

    /**
     * A variable's value in both states: null if a state does not have it, undefined if unknown.
     * @param {string} name
     */
    #values(name) {
        return [this.state.ours, this.state.theirs].map((id) => {
            const variables = this.props.page.variables.known.get(id);
            return Array.isArray(variables) ? shownValue(name, variables) : undefined;
        });
    }

    /** @param {string} name */
    #variable(name) {
        const [mine, other] = this.#values(name);
        const told = (/** @type {string | null | undefined} */ value) =>
            value === null ? html`<i>${WORDS.absent}</i>` : html`<code>${value ?? '…'}</code>`;
        return html`<div class="take-variable" key=${name}>
            <code class="take-name">${name}</code>
            <span class="take-values">${told(mine)} <span aria-hidden="true">→</span>
                <span class="visually-hidden">, then</span> ${other === null ? WORDS.deleted : told(other)}</span>
        </div>`;
    }
}
