import type { JsonObject } from '@gateway/json';
import type { ProviderEvent } from '../simulated-format.ts';
import type { AnswerPart } from './plan-answer.ts';
import { splitText, tokensOfBytes } from './text.ts';

/** Creates the events of one streamed answer and counts its tokens. */
export class EventStream {
  #outputTokens = 0;
  #reasoningTokens = 0;
  /** The tokens of the current part. */
  #tokensOfPart = 0;

  event(name: string, members: JsonObject): ProviderEvent {
    const data = JSON.stringify({ type: name, ...members });
    const outputTokens = this.#outputTokens + this.#tokensOfPart;
    return { name, data, outputTokens, reasoningTokens: this.#reasoningTokens, terminal: false };
  }

  /**
   * The deltas of a part. Its tokens are counted as they pass; those of reasoning are counted at
   * its end.
   */
  *deltasOf(part: AnswerPart): Generator<string> {
    const isCall = part.kind === 'tool_call';
    let bytes = isCall ? Buffer.byteLength(part.name) : 0;
    for (const delta of isCall ? splitText(part.argumentsText, 6) : splitText(part.text)) {
      bytes += Buffer.byteLength(delta);
      if (part.kind !== 'reasoning') this.#tokensOfPart = tokensOfBytes(bytes);
      yield delta;
    }
  }

  /** Counts all tokens of the part from now on. */
  finish({ kind, tokens }: AnswerPart): void {
    this.#tokensOfPart = 0;
    this.#outputTokens += tokens;
    if (kind === 'reasoning') this.#reasoningTokens += tokens;
  }
}
