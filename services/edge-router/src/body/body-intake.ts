import { JsonBody, type JsonSkimmer, PiecedBytes } from '@gateway/json';
import { BulkTurns } from '@gateway/time';
import { type BodyRules, tooLarge } from './body-rules.ts';
import { GatheredBytes } from './gathered-bytes.ts';

export interface ExpectedBody {
  readonly rules: BodyRules;
  readonly skimmer: JsonSkimmer;
  readonly expectedBytes: number;
  /** The body can't turn out too large any more. */
  readonly sizeIsCertain: boolean;
}

/** A body on its way: gathered, and checked as it comes. Large ones take their turns. */
export class BodyIntake {
  readonly #expected: ExpectedBody;
  readonly #turns = new BulkTurns();
  #gathered: GatheredBytes;
  #size = 0;
  #badJson: unknown;

  constructor(expected: ExpectedBody) {
    this.#expected = expected;
    this.#gathered = new GatheredBytes(expected.expectedBytes);
  }

  /** Takes the next bytes, now or when the promise resolves: none may be given before. Throws what is wrong with the body. */
  take(chunk: Buffer): Promise<void> | undefined {
    const { rules } = this.#expected;
    this.#size += chunk.length;
    if (this.#size > rules.limitBytes) throw tooLarge(rules);
    const turn = this.#turns.spend(chunk.length);
    if (turn !== undefined) return turn.then(() => this.#add(chunk));
    this.#add(chunk);
    return undefined;
  }

  /** There is no more of it. Throws what is wrong with the whole. */
  finish(): JsonBody {
    const { skimmer } = this.#expected;
    this.#badJson ??= failureOf(() => skimmer.end());
    if (this.#badJson !== undefined) throw this.#badJson;
    return new JsonBody(new PiecedBytes([this.#gathered.bytes()]), skimmer);
  }

  #add(chunk: Buffer): void {
    if (this.#badJson !== undefined) return;
    const { rules, skimmer, sizeIsCertain } = this.#expected;
    this.#badJson = failureOf(() => skimmer.push(chunk));
    if (this.#badJson === undefined) {
      rules.hold?.growTo(this.#gathered.capacityWith(chunk));
      this.#gathered.add(chunk);
    } else if (sizeIsCertain) {
      throw this.#badJson;
    } else {
      // Read on to the end and keep nothing: too large, or undecodable, would come first among the errors.
      this.#gathered = new GatheredBytes(0);
    }
  }
}

function failureOf(act: () => void): unknown {
  try {
    act();
    return undefined;
  } catch (failure) {
    return failure;
  }
}
