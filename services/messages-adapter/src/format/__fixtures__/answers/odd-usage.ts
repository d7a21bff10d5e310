import { counted } from './counted.ts';
import { type Events, end, type MessagesAnswer, oddEvent, start, stop } from './events.ts';

/** Reports that are absent, null, or no counts. */
export const oddUsageCases: readonly MessagesAnswer[] = [
  counted('no usage at the start', [oddStart({})], end('end_turn', { output_tokens: 7 }), { output: 7 }),
  counted(
    'usage null at the start',
    [oddStart({ usage: null })],
    end('end_turn', { input_tokens: 3, output_tokens: 7 }),
    {
      input: 3,
      output: 7,
    },
  ),
  counted('no usage at the end', [start({ input_tokens: 10, output_tokens: 1 })], oddEnd({}), { input: 10, output: 1 }),
  counted('usage null at the end', [start({ input_tokens: 10, output_tokens: 1 })], oddEnd({ usage: null }), {
    input: 10,
    output: 1,
  }),
  counted('negative counts are none', [start({ input_tokens: 10 })], end('end_turn', { output_tokens: -1 }), {
    input: 10,
  }),
  counted(
    'an input with a negative part is not known',
    [start({ input_tokens: 10, cache_read_input_tokens: -5 })],
    end('end_turn', { output_tokens: 7 }),
    { output: 7 },
  ),
  counted(
    'a first count of the output does not stand for a total beyond belief',
    [start({ input_tokens: 10, output_tokens: 1 })],
    end('end_turn', { output_tokens: 1e15 }),
    { input: 10 },
  ),
  counted(
    'fractions are no counts',
    [start({ input_tokens: 10 })],
    oddEnd({ usage: { input_tokens: 12.5, output_tokens: 7 } }),
    {
      input: 10,
      output: 7,
    },
  ),
  counted(
    'texts are no counts',
    [start({ input_tokens: 10 })],
    oddEnd({ usage: { input_tokens: '12', output_tokens: '7' } }),
    {
      input: 10,
    },
  ),
  counted(
    'counts beyond what can be counted are none',
    [start({ input_tokens: 10 })],
    oddEnd({ usage: { input_tokens: 1e300, output_tokens: 7 } }),
    {
      input: 10,
      output: 7,
    },
  ),
  counted('usage that is an array', [oddStart({ usage: [1, 2] })], oddEnd({ usage: [3] }), undefined),
  counted(
    'output details that are no object',
    [start()],
    oddEnd({ usage: { output_tokens: 7, output_tokens_details: 3 } }),
    {
      input: 10,
      output: 7,
    },
  ),
  counted('zeros only: nothing was counted', [start({})], end('end_turn', {}), undefined),
  counted('no usage anywhere', [oddStart({})], oddEnd({}), undefined),
];

function oddStart(members: object): string {
  return oddEvent({ type: 'message_start', message: { id: 'msg_01', role: 'assistant', ...members } });
}

function oddEnd(members: object): Events {
  return [oddEvent({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, ...members }), stop];
}
