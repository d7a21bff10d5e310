import type { JsonObject } from '@gateway/json';
import type { Answer, ProviderEvent } from '../provider-format.ts';
import type { AnswerPart } from './plan-answer.ts';
import { tokensOfBytes } from './text.ts';

/** Makes the events of one streamed answer, and counts its tokens while they pass. */
export abstract class EventStream {
  protected readonly answer: Answer;
  protected outputTokens = 0;
  protected reasoningTokens = 0;

  constructor(answer: Answer) {
    this.answer = answer;
  }

  /** The events of a part; after them its tokens are counted in full. */
  protected *counted(part: AnswerPart, events: Iterable<ProviderEvent>): Generator<ProviderEvent> {
    const tokensBefore = this.outputTokens;
    yield* events;
    this.outputTokens = tokensBefore + part.tokens;
    if (part.kind === 'reasoning') this.reasoningTokens += part.tokens;
  }

  /** Deltas of a part that begins with so many bytes. */
  protected *countedDeltas(deltas: Iterable<string>, bytesBefore = 0): Generator<string> {
    const tokensBefore = this.outputTokens;
    let bytes = bytesBefore;
    for (const delta of deltas) {
      bytes += Buffer.byteLength(delta);
      this.outputTokens = tokensBefore + tokensOfBytes(bytes);
      yield delta;
    }
  }

  protected event(name: string, members: JsonObject): ProviderEvent {
    const { outputTokens, reasoningTokens } = this;
    return { name, data: JSON.stringify({ type: name, ...members }), outputTokens, reasoningTokens, terminal: false };
  }
}
