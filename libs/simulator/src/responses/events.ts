import { asObject, type JsonObject } from '@gateway/json';
import { EventStream } from '../answer/event-stream.ts';
import { splitText } from '../answer/text.ts';
import type { Answer, ProviderEvent } from '../provider-format.ts';
import { contentPart, itemObject, type OutputItem, outputItemsOf } from './output-items.ts';
import { finalResponse, responseObject } from './response-object.ts';

/**
 * The events of a streamed response, in the provider's order and with all of their members.
 *
 * @see https://platform.openai.com/docs/api-reference/responses-streaming
 */
export function responsesEvents(answer: Answer): Iterable<ProviderEvent> {
  return new ResponseStream(answer).events();
}

class ResponseStream extends EventStream {
  readonly #obfuscated: boolean;
  #sequenceNumber = 0;

  constructor(answer: Answer) {
    super(answer);
    this.#obfuscated = asObject(answer.request.stream_options)?.include_obfuscation !== false;
  }

  *events(): Generator<ProviderEvent> {
    yield this.#lifecycle('response.created');
    yield this.#lifecycle('response.in_progress');
    for (const item of outputItemsOf(this.answer)) yield* this.#item(item);
    const response = finalResponse(this.answer);
    yield { ...this.event(`response.${response.status}`, { response }), terminal: true };
  }

  #lifecycle(type: string): ProviderEvent {
    return this.event(type, { response: responseObject(this.answer, { status: 'in_progress', output: [] }) });
  }

  *#item(item: OutputItem): Generator<ProviderEvent> {
    const place = { output_index: item.index };
    yield this.event('response.output_item.added', { ...place, item: itemObject(item, this.answer, false) });
    yield* this.counted(item.part, this.#content(item));
    yield this.event('response.output_item.done', { ...place, item: itemObject(item, this.answer, true) });
  }

  #content(item: OutputItem): Iterable<ProviderEvent> {
    const { part } = item;
    switch (part.kind) {
      case 'reasoning':
        return this.#reasoning(item, part);
      case 'tool_call':
        return this.#arguments(item, part);
      default:
        return this.#text(item, part);
    }
  }

  *#reasoning(item: OutputItem, { text }: { text: string }): Generator<ProviderEvent> {
    if (text === '') return;
    const place = { item_id: item.id, output_index: item.index, summary_index: 0 };
    const summary = 'response.reasoning_summary_text';
    const part = 'response.reasoning_summary_part';
    yield this.event(`${part}.added`, { ...place, part: { type: 'summary_text', text: '' } });
    for (const delta of splitText(text)) yield this.#delta(`${summary}.delta`, { ...place, delta });
    yield this.event(`${summary}.done`, { ...place, text });
    yield this.event(`${part}.done`, { ...place, part: { type: 'summary_text', text } });
  }

  *#text(item: OutputItem, part: Parameters<typeof contentPart>[0]): Generator<ProviderEvent> {
    const place = { content_index: 0, item_id: item.id, output_index: item.index };
    const isText = part.kind === 'text';
    const type = isText ? 'response.output_text' : 'response.refusal';
    const logprobs = isText ? { logprobs: [] } : {};
    yield this.event('response.content_part.added', { ...place, part: contentPart(part, '') });
    for (const delta of this.countedDeltas(splitText(part.text))) {
      yield this.#delta(`${type}.delta`, { ...place, delta, ...logprobs });
    }
    yield this.event(`${type}.done`, { ...place, [isText ? 'text' : 'refusal']: part.text, ...logprobs });
    yield this.event('response.content_part.done', { ...place, part: contentPart(part, part.text) });
  }

  *#arguments(item: OutputItem, part: { name: string; argumentsText: string }): Generator<ProviderEvent> {
    const place = { item_id: item.id, output_index: item.index };
    const type = 'response.function_call_arguments';
    for (const delta of this.countedDeltas(splitText(part.argumentsText, 6), Buffer.byteLength(part.name))) {
      yield this.#delta(`${type}.delta`, { ...place, delta });
    }
    yield this.event(`${type}.done`, { ...place, arguments: part.argumentsText, name: part.name });
  }

  /** Deltas carry padding, so that their sizes give nothing away. */
  #delta(type: string, members: JsonObject): ProviderEvent {
    if (!this.#obfuscated) return this.event(type, members);
    return this.event(type, { ...members, obfuscation: 'x'.repeat((this.#sequenceNumber * 7) % 16) });
  }

  protected override event(type: string, members: JsonObject): ProviderEvent {
    const sequenceNumber = this.answer.faults.kinds.has('unnumbered_events') ? undefined : this.#sequenceNumber;
    this.#sequenceNumber++;
    return super.event(type, { sequence_number: sequenceNumber, ...members });
  }
}
