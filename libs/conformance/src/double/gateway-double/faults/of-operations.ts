import type { Frame } from '../../formats/provider-format.ts';
import type { PlantedFault } from '../planted-fault.ts';
import { answers, endsAfterSilence, fault } from './changes.ts';

export const faultsOfOperations: readonly PlantedFault[] = [
  fault('one more than the limit', 'chat-limit-admits-exactly-the-limit', { slotsMore: 1 }),
  fault(
    'no retry-after',
    'messages-limit-refuses-with-429',
    answers(() => ({ headers: {} })),
  ),
  fault(
    'limits as 503',
    'responses-limit-refuses-with-429',
    answers(({ status }) => ({ status: status === 429 ? 503 : status })),
  ),
  fault('retry-after too early', 'chat-retry-after-is-honest', { waitsSecondsLess: 1 }),
  fault('one account only', 'chat-moves-on-when-an-account-is-limited', { asksOneAccountOnly: true }),
  fault('one account only, in streams', 'responses-moves-on-when-an-account-is-limited-in-a-stream', {
    asksOneAccountOnly: true,
  }),
  fault('one account only, when it fails', 'chat-moves-on-when-the-provider-fails', { asksOneAccountOnly: true }),
  fault(
    'limits of the provider as its failure',
    'messages-says-when-all-accounts-are-limited',
    answers(({ status, body }) => (status === 429 ? { status: 503, body } : {})),
  ),
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
  fault('cuts as good ends, whole', 'responses-cut-answer-is-an-error', { passesOn: ['cuts-as-ends'] }),
];
