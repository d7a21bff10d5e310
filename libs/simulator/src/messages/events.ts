import type { JsonObject } from '@gateway/json';
import type { AnswerPart } from '../answer/plan-answer.ts';
import { splitText, tokensOfBytes } from '../answer/text.ts';
import type { Answer, ProviderEvent } from '../provider-format.ts';
import { finalUsage, signatureOf, startedBlock, startedMessage, stopOf, tokensAtStart } from './message-object.ts';

/**
 * The events of a streamed message, in the provider's order.
 *
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export function messagesEvents(answer: Answer): Iterable<ProviderEvent> {
  return new MessageStream(answer).events();
}

class MessageStream {
  readonly #answer: Answer;
  #outputTokens = 0;
  #reasoningTokens = 0;

  constructor(answer: Answer) {
    this.#answer = answer;
  }

  *events(): Generator<ProviderEvent> {
    const { parts, ending } = this.#answer.plan;
    yield this.#event('message_start', { message: startedMessage(this.#answer) });
    for (const [index, part] of parts.entries()) yield* this.#block(part, index);
    if (parts.length === 0) yield this.#event('ping', {});
    const usage = this.#answer.shape.usage === 'missing' ? {} : { usage: finalUsage(this.#answer) };
    yield this.#event('message_delta', { delta: { ...stopOf(ending), container: null }, ...usage });
    yield { ...this.#event('message_stop', {}), terminal: true };
  }

  *#block(part: AnswerPart, index: number): Generator<ProviderEvent> {
    const tokensBefore = this.#outputTokens;
    yield this.#event('content_block_start', { index, content_block: startedBlock(part, this.#answer, index) });
    if (index === 0) yield this.#event('ping', {});
    for (const delta of this.#deltas(part, index)) yield this.#event('content_block_delta', { index, delta });
    this.#outputTokens = tokensBefore + part.tokens;
    if (part.kind === 'reasoning') this.#reasoningTokens += part.tokens;
    yield this.#event('content_block_stop', { index });
  }

  *#deltas(part: AnswerPart, index: number): Generator<JsonObject> {
    switch (part.kind) {
      case 'reasoning':
        if (!part.redacted) yield* this.#thinkingDeltas(part.text, index);
        return;
      case 'tool_call':
        yield* this.#argumentDeltas(part);
        return;
      default:
        for (const text of this.#counted(splitText(part.text), 0)) yield { type: 'text_delta', text };
    }
  }

  *#thinkingDeltas(text: string, index: number): Generator<JsonObject> {
    for (const thinking of splitText(text)) yield { type: 'thinking_delta', thinking };
    yield { type: 'signature_delta', signature: signatureOf(text, this.#answer, index) };
  }

  /** The first delta is always empty, and for a call without arguments it is the only one. */
  *#argumentDeltas({ name, argumentsText }: { name: string; argumentsText: string }): Generator<JsonObject> {
    yield { type: 'input_json_delta', partial_json: '' };
    if (argumentsText === '{}') return;
    for (const partial of this.#counted(splitText(argumentsText, 6), Buffer.byteLength(name))) {
      yield { type: 'input_json_delta', partial_json: partial };
    }
  }

  /** Counts the tokens of a part while its deltas pass. */
  *#counted(deltas: Iterable<string>, bytesBefore: number): Generator<string> {
    const tokensBefore = this.#outputTokens;
    let bytes = bytesBefore;
    for (const delta of deltas) {
      bytes += Buffer.byteLength(delta);
      this.#outputTokens = tokensBefore + tokensOfBytes(bytes);
      yield delta;
    }
  }

  #event(name: string, members: JsonObject): ProviderEvent {
    return {
      name,
      data: JSON.stringify({ type: name, ...members }),
      outputTokens: Math.max(this.#outputTokens, tokensAtStart(this.#answer)),
      reasoningTokens: this.#reasoningTokens,
      terminal: false,
    };
  }
}
