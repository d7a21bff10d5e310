import { text } from '@gateway/testkit/adapters';
import { counted } from './counted.ts';
import {
  end,
  errorEvent,
  type MessagesAnswer,
  messageDelta,
  oddEvent,
  start,
  stop,
  textBlock,
  tokens,
} from './events.ts';

export const usageCases: readonly MessagesAnswer[] = [
  counted('input at the start, output at the end', [start()], end('end_turn', { output_tokens: 15 }), {
    input: 10,
    output: 15,
  }),
  counted(
    'cached input is part of the input',
    [start({ input_tokens: 4, cache_creation_input_tokens: 120, cache_read_input_tokens: 2_048 })],
    end('end_turn', { output_tokens: 7 }),
    { input: 2_172, cached: 2_048, output: 7 },
  ),
  counted(
    'counts that are reported twice are not added up',
    [start({ input_tokens: 4, cache_creation_input_tokens: 120, cache_read_input_tokens: 2_048, output_tokens: 1 })],
    end('end_turn', {
      input_tokens: 4,
      cache_creation_input_tokens: 120,
      cache_read_input_tokens: 2_048,
      output_tokens: 7,
    }),
    { input: 2_172, cached: 2_048, output: 7 },
  ),
  counted(
    'input that the end corrects',
    [start({ input_tokens: 10 })],
    end('end_turn', { input_tokens: 310, cache_read_input_tokens: 90, output_tokens: 7 }),
    { input: 400, cached: 90, output: 7 },
  ),
  counted(
    'null at the end leaves what the start said',
    [start({ input_tokens: 10, cache_creation_input_tokens: 3, cache_read_input_tokens: 2 })],
    end('end_turn', {
      input_tokens: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 7,
    }),
    { input: 15, cached: 2, output: 7 },
  ),
  counted(
    'zero at the end leaves what the start said',
    [start({ input_tokens: 10, cache_read_input_tokens: 5 })],
    end('end_turn', { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 7 }),
    { input: 15, cached: 5, output: 7 },
  ),
  counted(
    'zero for the input at the end, and nothing of what was cached',
    [start({ input_tokens: 4_522, cache_creation_input_tokens: 100, cache_read_input_tokens: 50 })],
    [oddEvent({ type: 'message_delta', delta: {}, usage: { input_tokens: 0, output_tokens: 7 } }), stop],
    { input: 4_672, cached: 50, output: 7 },
  ),
  counted(
    'zero for the output at the end, after a count of it',
    [start(), messageDelta(null, { output_tokens: 30 })],
    end('end_turn', { output_tokens: 0 }),
    { input: 10, output: 30 },
  ),
  counted(
    'smaller counts than before',
    [start({ input_tokens: 10, cache_read_input_tokens: 5 }), messageDelta(null, { output_tokens: 30 })],
    end('end_turn', { input_tokens: 3, cache_read_input_tokens: 2, output_tokens: 20 }),
    { input: 15, cached: 5, output: 30 },
  ),
  counted(
    'an end that is the first to say what was cached: it is not counted twice',
    [start({ input_tokens: 4_522 })],
    end('end_turn', { input_tokens: 22, cache_read_input_tokens: 4_500, output_tokens: 7 }),
    { input: 4_522, cached: 4_500, output: 7 },
  ),
  counted(
    'an input that is zero throughout: it was not counted',
    [start({ input_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 })],
    end('end_turn', { input_tokens: 0, output_tokens: 7 }),
    { output: 7 },
  ),
  counted(
    'an input of which all was cached',
    [start({ input_tokens: 0, cache_read_input_tokens: 50 })],
    end('end_turn', { output_tokens: 7 }),
    { input: 50, cached: 50, output: 7 },
  ),
  counted(
    'an output that is zero, of an answer that says something',
    [start()],
    end('end_turn', { output_tokens: 0 }),
    {
      input: 10,
      output: 1,
    },
  ),
  counted(
    'several reports, of which each is a total',
    [start(), messageDelta(null, { output_tokens: 3 }), messageDelta(null, { output_tokens: 9 })],
    end('end_turn', { output_tokens: 12 }),
    { input: 10, output: 12 },
  ),
  counted(
    'a second start within the message',
    [start({ input_tokens: 10 }), start({ input_tokens: 20 })],
    end('end_turn', { output_tokens: 7 }),
    { input: 20, output: 7 },
  ),
  counted(
    'a cache that is only written',
    [start({ input_tokens: 10, cache_creation_input_tokens: 500, cache_read_input_tokens: 0 })],
    end('end_turn', { output_tokens: 7 }),
    { input: 510, output: 7 },
  ),
  counted(
    'a cache write by life time is not counted beside its total',
    [
      start({
        input_tokens: 10,
        cache_creation_input_tokens: 500,
        cache_creation: { ephemeral_5m_input_tokens: 300, ephemeral_1h_input_tokens: 200 },
      }),
    ],
    end('end_turn', { output_tokens: 7 }),
    { input: 510, output: 7 },
  ),
  counted(
    'thinking tokens',
    [start({ input_tokens: 10, output_tokens_details: { thinking_tokens: 0 } })],
    end('end_turn', { output_tokens: 62, output_tokens_details: { thinking_tokens: 50 } }),
    { input: 10, output: 62, reasoning: 50 },
  ),
  counted(
    'more thinking than output: no more than the output',
    [start()],
    end('end_turn', { output_tokens: 40, output_tokens_details: { thinking_tokens: 50 } }),
    { input: 10, output: 40, reasoning: 40 },
  ),
  counted(
    'thinking tokens that a later report leaves out',
    [start(), messageDelta(null, { output_tokens: 40, output_tokens_details: { thinking_tokens: 30 } })],
    end('end_turn', { output_tokens: 62, output_tokens_details: null }),
    { input: 10, output: 62, reasoning: 30 },
  ),
  counted(
    "the provider's own tools and passes are not counted beside the total",
    [start({ input_tokens: 10, server_tool_use: { web_search_requests: 3, web_fetch_requests: 1 } })],
    end('end_turn', {
      output_tokens: 7,
      server_tool_use: { web_search_requests: 5, web_fetch_requests: 1 },
      iterations: [],
    }),
    { input: 10, output: 7 },
  ),
  counted(
    'large counts',
    [start({ input_tokens: 900_000 })],
    end('end_turn', { cache_read_input_tokens: 5_000_000_000, output_tokens: 128_000 }),
    {
      input: 5_000_900_000,
      cached: 5_000_000_000,
      output: 128_000,
    },
  ),
  {
    name: 'usage of an answer that fails is known all the same',
    events: [
      start({ input_tokens: 4, cache_read_input_tokens: 6 }),
      ...textBlock(0, 'Ye'),
      messageDelta(null, { output_tokens: 3 }),
      errorEvent('api_error'),
    ],
    deltas: [text('Ye')],
    ending: { failed: 'SERVER_ERROR', code: 'providers_unavailable' },
    usage: tokens({ input: 10, cached: 6, output: 3 }),
  },
];
