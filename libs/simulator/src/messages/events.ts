import type { JsonObject } from '@gateway/json';
import { EventStream } from '../answer/event-stream.ts';
import type { AnswerPart } from '../answer/plan-answer.ts';
import { splitText } from '../answer/text.ts';
import type { Answer, ProviderEvent } from '../provider-format.ts';
import { blockObject, finalUsage, signatureOf, startedMessage, stopOf, tokensAtStart } from './message-object.ts';

/**
 * The events of a streamed message, in the provider's order.
 *
 * @see https://docs.claude.com/en/docs/build-with-claude/streaming
 */
export function messagesEvents(answer: Answer): Iterable<ProviderEvent> {
  return new MessageStream(answer).events();
}

class MessageStream extends EventStream {
  *events(): Generator<ProviderEvent> {
    const { parts, ending } = this.answer.plan;
    yield this.event('message_start', { message: startedMessage(this.answer) });
    for (const [index, part] of parts.entries()) yield* this.#block(part, index);
    if (parts.length === 0) yield this.event('ping', {});
    const usage = this.answer.faults.kinds.has('usage_missing') ? {} : { usage: finalUsage(this.answer) };
    yield this.event('message_delta', { delta: { ...stopOf(ending), container: null }, ...usage });
    yield { ...this.event('message_stop', {}), terminal: true };
  }

  *#block(part: AnswerPart, index: number): Generator<ProviderEvent> {
    yield* this.counted(part, this.#blockToItsEnd(part, index));
    yield this.event('content_block_stop', { index });
  }

  *#blockToItsEnd(part: AnswerPart, index: number): Generator<ProviderEvent> {
    yield this.event('content_block_start', { index, content_block: blockObject(part, this.answer, index, false) });
    if (index === 0) yield this.event('ping', {});
    for (const delta of this.#deltas(part, index)) yield this.event('content_block_delta', { index, delta });
  }

  *#deltas(part: AnswerPart, index: number): Generator<JsonObject> {
    switch (part.kind) {
      case 'reasoning':
        yield* this.#thinkingDeltas(part.text, index);
        return;
      case 'tool_call':
        yield* this.#argumentDeltas(part);
        return;
      default:
        for (const text of this.countedDeltas(splitText(part.text))) yield { type: 'text_delta', text };
    }
  }

  *#thinkingDeltas(text: string, index: number): Generator<JsonObject> {
    for (const thinking of splitText(text)) yield { type: 'thinking_delta', thinking };
    yield { type: 'signature_delta', signature: signatureOf(text, this.answer, index) };
  }

  /** The first delta is always empty, and for a call without arguments it is the only one. */
  *#argumentDeltas({ name, argumentsText }: { name: string; argumentsText: string }): Generator<JsonObject> {
    yield { type: 'input_json_delta', partial_json: '' };
    if (argumentsText === '{}') return;
    for (const partial of this.countedDeltas(splitText(argumentsText, 6), Buffer.byteLength(name))) {
      yield { type: 'input_json_delta', partial_json: partial };
    }
  }

  /** A message is billed for its first token as soon as it starts. */
  protected override event(name: string, members: JsonObject): ProviderEvent {
    const event = super.event(name, members);
    return { ...event, outputTokens: Math.max(event.outputTokens, tokensAtStart(this.answer)) };
  }
}
