import { randomUUID } from 'node:crypto';
import type { Frame } from '../../double/formats/provider-format.ts';
import type { ReplyEndpoint } from '../../formats/format.ts';
import { formats } from '../../formats/formats.ts';
import { Found } from '../../formats/found.ts';
import type { Call } from './call.ts';
import type { Counts } from './ledger.ts';
import type { Misbehaviour } from './misbehaviour.ts';

/**
 * The stream for the client: the provider's until it fails, and then one error. Counts the usage.
 */
export async function* relayEvents(
  { endpoint, body }: Call,
  frames: AsyncIterable<Frame>,
  misbehaviour: Misbehaviour,
  record: (counts: Counts) => void,
): AsyncIterable<Frame> {
  const asksForUsage = new Found(body, 'the request').at('stream_options', 'include_usage').value === true;
  let counts: Counts = { input: 0, cached: 0, output: 0 };
  let response: unknown;
  let position = 0;
  let isOver = false;
  try {
    for await (const frame of frames) {
      const { event, data } = frame;
      const isError = event === 'error' || data.startsWith('{"error"');
      if (isError && misbehaviour.passesErrorsOn) yield frame;
      if (isError) break;
      if (data !== '[DONE]') {
        const json: unknown = JSON.parse(data);
        response = new Found(json, 'event').at('response').value ?? response;
        counts = { ...counts, ...countsIn(endpoint, json) };
      }
      isOver ||= data === '[DONE]' || lastEvents.has(event);
      position++;
      if (endpoint === 'chat' && data !== '[DONE]') yield* onlyChunk(data, asksForUsage);
      else yield frame;
    }
  } catch {
    // The provider has broken off.
  }
  record(counts);
  if (isOver) return;
  const ends = misbehaviour.endsCutStreams ? goodEnds : errorFrames;
  yield ends[formats[endpoint].endpoint](response, position);
}

const lastEvents: ReadonlySet<string | undefined> = new Set([
  'message_stop',
  'response.completed',
  'response.incomplete',
]);

type Ends = Readonly<Record<ReplyEndpoint, (response: unknown, position: number) => Frame>>;

const goodEnds: Ends = {
  chat: () => ({ data: '[DONE]' }),
  messages: () => frameOf({ type: 'message_stop' }),
  responses: () => frameOf({ type: 'response.completed', sequence_number: 99, response: {} }),
};

const failure = { code: 'providers_unavailable', message: 'The provider has failed.' };

const errorFrames: Ends = {
  chat: () => ({ data: JSON.stringify({ error: failure }) }),
  messages: () => frameOf({ type: 'error', error: { type: 'api_error', message: failure.message } }),
  responses: (response, position) => {
    const failed = { ...Object(response), status: 'failed', error: failure };
    return frameOf({ type: 'response.failed', sequence_number: position, response: failed });
  },
};

function frameOf(event: { readonly type: string; readonly [member: string]: unknown }): Frame {
  return { event: event.type, data: JSON.stringify(event) };
}

/** The provider's usage, in an answer or an event. */
export function countsIn(endpoint: Call['endpoint'], answer: unknown): Partial<Counts> {
  const found = new Found(answer, 'the answer');
  const [usage] = [found, found.at('response'), found.at('message')]
    .map((one) => one.at('usage'))
    .filter((one) => one.isThere);
  const read = usage && formats[endpoint].readUsage(usage);
  return read ? { input: read.input, cached: read.cached ?? 0, output: read.output } : {};
}

/** A chunk with the fields of the specification, and usage only if it was requested. */
function* onlyChunk(data: string, asksForUsage: boolean): Iterable<Frame> {
  const { id, object, created, model, choices, usage } = JSON.parse(data);
  if (choices.length === 0 && !asksForUsage) return;
  const kept = choices.map(({ index, delta, finish_reason }: Record<string, unknown>) => {
    return { index, delta: onlyDelta(delta), finish_reason };
  });
  yield { data: JSON.stringify({ id, object, created, model, choices: kept, ...(usage ? { usage } : {}) }) };
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
