import { asString } from '@gateway/json';

/** Whether a model reasons: `open` while it does, `over` once it has. */
export type ReasoningState = 'open' | 'over';

/**
 * The reasoning of one answer. Providers show where it begins and ends, and in between little or nothing of it: how much there
 * was is known from its encrypted form, which comes at its end.
 */
export class Reasoning {
  #open = 0;
  #hasBegun = false;
  #shownCharacters = 0;
  #encryptedCharacters = 0;

  /** Undefined before it begins. */
  get state(): ReasoningState | undefined {
    if (this.#open > 0) return 'open';
    return this.#hasBegun ? 'over' : undefined;
  }

  /** What is shown is often a summary: the encrypted form says more then. */
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

  /** Also of reasoning that was not seen to begin. */
  end(): void {
    this.#hasBegun = true;
    this.#open = Math.max(0, this.#open - 1);
  }
}

/** In recorded answers a token of reasoning has about 6.7 characters of the encrypted form, and 4 as text. */
const charactersPerEncryptedOne = 0.6;

function lengthOf(text: unknown): number {
  return asString(text)?.length ?? 0;
}
