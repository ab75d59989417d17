// @ts-check
// The input box for a running cell that called `input()`.

import { Component, html } from '../vendor/preact.js';
import { WORDS } from '../shell/words.js';

/**
 * @typedef {{prompt: import('../shell/protocol.js').Prompt, exec_id: string,
 *   controller: import('../cell/cell-controller.js').CellController | null}} QuestionProps
 */

/** @extends {Component<QuestionProps, {}>} */
export class InputPrompt extends Component {
    /** @type {HTMLInputElement | null} */
    input = null;
    /** The prompt answered last. @type {import('../shell/protocol.js').Prompt | null} */
    answered = null;

    componentDidMount() {
        const { prompt, exec_id, controller } = this.props;
        if (this.input) controller?.prompts.onRequested(exec_id, prompt.text, this.input);
    }

    /** Empties the input if another prompt follows directly. @param {QuestionProps} before */
    componentDidUpdate(before) {
        if (before.prompt === this.props.prompt || !this.input) return;
        this.input.value = '';
    }

    componentWillUnmount() {
        const { prompt, controller } = this.props;
        const hasFocus =
            document.activeElement === this.input ||
            document.activeElement?.closest('.input-prompt')?.contains(this.input);
        controller?.prompts.onEnded(prompt.text, hasFocus ? this.#cell() : null);
    }

    #cell() {
        return this.input?.closest('.cell')?.getAttribute('data-cell') ?? null;
    }

    async #send() {
        const { prompt, exec_id, controller } = this.props;
        if (this.answered === prompt || !this.input) return;
        this.answered = prompt;
        const isTaken = await controller?.page.ownRuns.answer(exec_id, this.input.value);
        if (!isTaken && this.answered === prompt) this.answered = null;
    }

    /** @param {KeyboardEvent} event */
    #key(event) {
        const cell = this.#cell();
        if (event.key === 'Enter' && !event.isComposing) this.#send();
        else if (event.key === 'Escape' && cell) this.props.controller?.focus.cell(cell);
        else return;
        event.preventDefault();
    }

    /** @param {QuestionProps} props */
    render({ prompt, controller }) {
        return html`
            <div class="input-prompt">
                <label><span class="asked">${prompt.text}</span>
                    <input ref=${(/** @type {HTMLInputElement | null} */ input) =>
                        (this.input = input ?? this.input)} type=${prompt.password ? 'password' : 'text'}
                        autocomplete="off" disabled=${!controller}
                        aria-label=${prompt.text || WORDS.answerHint}
                        onKeyDown=${(/** @type {KeyboardEvent} */ event) => this.#key(event)} /></label>
                ${
                    controller &&
                    html`<button class="button" onClick=${() => this.#send()}>
                    ${WORDS.answer}</button>`
                }
            </div>`;
    }
}
