import { randomUUID } from 'node:crypto';
import { Found } from '../../formats/found.ts';
import type { Frame } from '../formats/provider-format.ts';
import type { Call } from './call.ts';
import type { Counts } from './ledger.ts';
import type { Misbehaviour } from './misbehaviour.ts';

const failure = { code: 'providers_unavailable', message: 'The provider has failed.' };

/** The stream that the client gets: the provider's until it fails, and then one error. Counts what was used. */
export async function* relayEvents(
  call: Call,
  frames: AsyncIterable<Frame>,
  misbehaviour: Misbehaviour,
  record: (counts: Counts) => void,
): AsyncIterable<Frame> {
  const relay = new Relay(call);
  let isOver = false;
  try {
    for await (const { event, data } of frames) {
      const isError = event === 'error' || data.startsWith('{"error"');
      if (isError && misbehaviour.passesErrorsOn) yield { event, data };
      if (isError) break;
      relay.count(data);
      isOver ||=
        data === '[DONE]' ||
        event === 'message_stop' ||
        event === 'response.completed' ||
        event === 'response.incomplete';
      yield* relay.shown({ event, data });
    }
  } catch {
    // The provider has broken off.
  }
  record(relay.counts);
  if (isOver) return;
  yield misbehaviour.endsCutStreams ? goodEnds[call.endpoint as keyof typeof goodEnds] : relay.errorFrame();
}

const goodEnds = {
  chat: { data: '[DONE]' },
  messages: { event: 'message_stop', data: '{"type":"message_stop"}' },
  responses: { event: 'response.completed', data: '{"type":"response.completed","sequence_number":99,"response":{}}' },
} as const;

class Relay {
  readonly #call: Call;
  #response: unknown;
  #position = 0;
  counts: Counts = { input: 0, cached: 0, output: 0 };

  constructor(call: Call) {
    this.#call = call;
  }

  /** Of chat completions only the fields of the specification, and usage only when asked for. */
  *shown(frame: Frame): Iterable<Frame> {
    this.#position++;
    if (this.#call.endpoint !== 'chat' || frame.data === '[DONE]') return yield frame;
    const { choices, usage, ...chunk } = JSON.parse(frame.data);
    const asked = new Found(this.#call.body, 'the request').at('stream_options', 'include_usage').value === true;
    if (choices.length === 0 && !asked) return;
    const kept = choices.map(({ index, delta, finish_reason }: Record<string, unknown>) => {
      return { index, delta: onlyDelta(delta), finish_reason };
    });
    const { id, object, created, model } = chunk;
    yield { data: JSON.stringify({ id, object, created, model, choices: kept, ...(usage ? { usage } : {}) }) };
  }

  count(data: string): void {
    if (data === '[DONE]') return;
    const event: unknown = JSON.parse(data);
    this.#response = new Found(event, 'event').at('response').value ?? this.#response;
    this.counts = { ...this.counts, ...countsIn(event) };
  }

  errorFrame(): Frame {
    if (this.#call.endpoint === 'chat') return { data: JSON.stringify({ error: failure }) };
    if (this.#call.endpoint === 'messages') {
      return {
        event: 'error',
        data: JSON.stringify({ type: 'error', error: { type: 'api_error', message: failure.message } }),
      };
    }
    const response = { ...Object(this.#response), status: 'failed', error: failure };
    const event = { type: 'response.failed', sequence_number: this.#position, response };
    return { event: event.type, data: JSON.stringify(event) };
  }
}

/** What a provider says of usage, in whichever format. */
export function countsIn(answer: unknown): Partial<Counts> {
  const found = new Found(answer, 'the answer');
  const usage = [found.at('usage'), found.at('response', 'usage'), found.at('message', 'usage')].find(
    (one) => one.isThere,
  );
  if (usage === undefined) return {};
  const number = (...path: readonly string[]) => Number(usage.at(...path).value ?? 0);
  if (usage.at('prompt_tokens').isThere) {
    const cached = number('prompt_tokens_details', 'cached_tokens');
    return { input: number('prompt_tokens'), cached, output: number('completion_tokens') };
  }
  if (usage.at('total_tokens').isThere) {
    const cached = number('input_tokens_details', 'cached_tokens');
    return { input: number('input_tokens'), cached, output: number('output_tokens') };
  }
  const cached = number('cache_read_input_tokens');
  return { input: number('input_tokens') + cached, cached, output: number('output_tokens') };
}

function onlyDelta(delta: unknown): object {
  const { refusal, ...kept } = Object(delta);
  return refusal ? { ...kept, refusal } : kept;
}

/** A completion with the fields of the specification. */
export function onlyCompletion(body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const { id, object, created, model, choices, usage } = body;
  const kept = Array.isArray(choices)
    ? choices.map(({ index, message, finish_reason }) => {
        const { role, content, tool_calls } = message;
        return { index, message: { role, content, tool_calls }, finish_reason };
      })
    : choices;
  return { id: id ?? `chatcmpl-${randomUUID()}`, object, created, model, choices: kept, usage };
}
