import type { JsonObject } from '@gateway/json';
import type { ProviderEvent } from '../simulated-format.ts';
import type { AnswerPart } from './plan-answer.ts';
import { splitText, tokensOfBytes } from './text.ts';

/** Makes the events of one streamed answer, and counts its tokens meanwhile. */
export class EventStream {
  #outputTokens = 0;
  #reasoningTokens = 0;
  /** Of the part under way. */
  #tokensOfPart = 0;

  event(name: string, members: JsonObject): ProviderEvent {
    const data = JSON.stringify({ type: name, ...members });
    const outputTokens = this.#outputTokens + this.#tokensOfPart;
    return { name, data, outputTokens, reasoningTokens: this.#reasoningTokens, terminal: false };
  }

  /** The deltas of a part; its tokens are counted while they pass, those of reasoning at its end. */
  *deltasOf(part: AnswerPart): Generator<string> {
    const isCall = part.kind === 'tool_call';
    let bytes = isCall ? Buffer.byteLength(part.name) : 0;
    for (const delta of isCall ? splitText(part.argumentsText, 6) : splitText(part.text)) {
      bytes += Buffer.byteLength(delta);
      if (part.kind !== 'reasoning') this.#tokensOfPart = tokensOfBytes(bytes);
      yield delta;
    }
  }

  /** From now on the tokens of the part are counted in full. */
  finish({ kind, tokens }: AnswerPart): void {
    this.#tokensOfPart = 0;
    this.#outputTokens += tokens;
    if (kind === 'reasoning') this.#reasoningTokens += tokens;
  }
}
