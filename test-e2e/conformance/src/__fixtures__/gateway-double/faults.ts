import { setTimeout } from 'node:timers/promises';
import type { Frame } from '../../double/formats/provider-format.ts';
import type { Misbehaviour } from './misbehaviour.ts';

/** A fault of a gateway, and the check that must find it. */
export interface PlantedFault {
  readonly name: string;
  /** The name of a check. */
  readonly breaks: string;
  readonly behaviour: Misbehaviour;
}

/** Every fault of the gateway double. Faults of formats are in a gateway that only forwards. */
export const plantedFaults: readonly PlantedFault[] = [
  fault('one more than the limit', 'chat-limit-admits-exactly-the-limit', { slotsMore: 1 }),
  fault('no retry-after', 'messages-limit-refuses-with-429', { answer: () => ({ headers: {} }) }),
  fault('limits as 503', 'responses-limit-refuses-with-429', {
    answer: ({ status }) => ({ status: status === 429 ? 503 : status }),
  }),
  fault('retry-after too early', 'chat-retry-after-is-honest', { waitsSecondsLess: 1 }),
  fault('one account only', 'chat-moves-on-when-an-account-is-limited', { asksOneAccountOnly: true }),
  fault('one account only, in streams', 'responses-moves-on-when-an-account-is-limited-in-a-stream', {
    asksOneAccountOnly: true,
  }),
  fault('one account only, when it fails', 'chat-moves-on-when-the-provider-fails', { asksOneAccountOnly: true }),
  fault('one account only, when a new connection breaks', 'chat-moves-on-when-the-connection-breaks', {
    asksOneAccountOnly: true,
  }),
  fault('the same account again when a new connection breaks', 'chat-moves-on-when-the-connection-breaks', {
    asksSameAccountAgain: true,
  }),
  fault('nothing more when a reused connection ends', 'chat-goes-on-when-a-reused-connection-ends', {
    asksOneAccountOnly: true,
  }),
  fault('limits of the provider as its failure', 'messages-says-when-all-accounts-are-limited', {
    answer: ({ status, body }) => (status === 429 ? { status: 503, body } : {}),
  }),
  fault('hang-ups not passed on', 'messages-hang-up-reaches-the-provider', { ignoresHangUps: true }),
  fault('hang-ups before the answer not passed on', 'chat-hang-up-before-the-answer', { ignoresHangUps: true }),
  fault('silence as an end', 'chat-silent-stream-is-not-whole', endsAfterSilence(800, [{ data: '[DONE]' }])),
  fault('no patience', 'messages-slow-stream', endsAfterSilence(200, [])),
  fault('a second answer in a stream', 'chat-no-second-answer-in-a-stream', {
    async *frames(frames) {
      const sent: Frame[] = [];
      for await (const frame of frames) {
        if (frame.data.startsWith('{"error"')) return yield* [...sent, { data: '[DONE]' }];
        sent.push(frame);
        yield frame;
      }
    },
  }),
  fault('cuts as good ends, whole', 'responses-cut-answer-is-an-error', { endsCutStreams: true }),

  fault('one id for all', 'spec-chat-request-id', { answer: () => ({ headers: { 'x-request-id': 'always' } }) }),
  fault('no name of who answers', 'spec-chat-names-who-answers', { streamHeaders: { 'x-gateway-model': '' } }),
  fault('a field of the provider', 'spec-chat-completion-fields', {
    answer: ({ body }) => ({ body: { ...body, system_fingerprint: 'fp' } }),
  }),
  fault(
    'a chunk with more',
    'spec-chat-chunk-fields',
    text('"object":"chat.completion.chunk"', '"object":"chat.completion.chunk","obfuscation":"x"'),
  ),
  fault('wrong methods as unknown paths', 'spec-chat-wrong-method', {
    answer: ({ status }) => ({ status: status === 405 ? 404 : status }),
  }),
  fault('other codes', 'spec-responses-text-as-input', text('"invalid_request"', '"bad_request"')),
  fault('bodies of any size', 'spec-messages-large-body', { skips: 'size' }),
  fault('compressed Messages', 'spec-messages-unknown-encoding', { skips: 'encoding' }),
  fault('tokens counted twice', 'spec-usage-counts-chat', { countsTwice: true }),
  fault('usage that takes a slot', 'spec-usage-takes-no-slot', { countsUsageRequests: true }),
  fault("the provider's words", 'spec-messages-provider-error', { passesErrorsOn: true }),
  fault("the provider's words in a stream", 'spec-chat-stream-error', { passesErrorsOn: true }),
  fault('models in another order', 'spec-models-order-and-fields', {
    answer: ({ body }) => (Array.isArray(body.data) ? { body: { ...body, data: body.data.toReversed() } } : {}),
  }),
  fault('answers that are stored', 'spec-responses-request', { ask: () => ({ store: true }) }),
  fault('only fields that it knows', 'spec-messages-request-is-unchanged', { ask: () => ({ conformance: undefined }) }),
  fault('headers that stand still', 'spec-chat-limit-headers', {
    answer: ({ headers }) => ({ headers: { ...headers, 'x-ratelimit-remaining-requests': '7' } }),
  }),
  fault('refusals that do not say until when', 'spec-chat-limit-refusal', text('"retryAt"', '"until"')),
];

function fault(name: string, breaks: string, behaviour: Misbehaviour): PlantedFault {
  return { name, breaks, behaviour };
}

/** In the data of every event, and in the body of every whole answer. */
function text(found: string, replacement: string): Misbehaviour {
  return {
    async *frames(frames) {
      for await (const { event, data } of frames) yield { event, data: data.replaceAll(found, replacement) };
    },
    answer: ({ body }) => ({ body: JSON.parse(JSON.stringify(body).replaceAll(found, replacement)) }),
  };
}

/** Ends a stream after this time without an event. */
function endsAfterSilence(silenceMs: number, last: readonly Frame[]): Misbehaviour {
  return {
    async *frames(frames) {
      const iterator = frames[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([iterator.next(), setTimeout(silenceMs, undefined)]);
        if (next === undefined) return yield* last;
        if (next.done) return;
        yield next.value;
      }
    },
  };
}
