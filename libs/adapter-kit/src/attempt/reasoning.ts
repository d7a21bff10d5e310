import { asString } from '@gateway/json';

/** The state of a model's reasoning: `open` while it lasts, `over` afterwards. */
export type ReasoningState = 'open' | 'over';

/**
 * The reasoning of one answer. Providers show its start and its end, and little or nothing in
 * between. How much there was follows from its encrypted form, which arrives at its end.
 */
export class Reasoning {
  #open = 0;
  #hasBegun = false;
  #shownCharacters = 0;
  #encryptedCharacters = 0;

  /** Undefined before it starts. */
  get state(): ReasoningState | undefined {
    if (this.#open > 0) return 'open';
    return this.#hasBegun ? 'over' : undefined;
  }

  /** The visible text is often a summary; then the encrypted form shows more. */
  get producedCharacters(): number {
    return Math.max(this.#shownCharacters, Math.ceil(this.#encryptedCharacters * charactersPerEncryptedOne));
  }

  begin(): void {
    this.#hasBegun = true;
    this.#open += 1;
  }

  shown(text: unknown): void {
    this.#shownCharacters += lengthOf(text);
  }

  encrypted(text: unknown): void {
    this.#encryptedCharacters += lengthOf(text);
  }

  /** Also ends reasoning whose start was not seen. */
  end(): void {
    this.#hasBegun = true;
    this.#open = Math.max(0, this.#open - 1);
  }
}

/**
 * In recorded answers a token of reasoning has about 6.7 characters in encrypted form, and 4 as
 * text.
 */
const charactersPerEncryptedOne = 0.6;

function lengthOf(text: unknown): number {
  return asString(text)?.length ?? 0;
}
