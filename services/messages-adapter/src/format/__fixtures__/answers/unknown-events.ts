import { args, call, text } from '@gateway/testkit/adapters';
import {
  blockDelta,
  blockStart,
  blockStop,
  type Events,
  end,
  type MessagesAnswer,
  oddEvent,
  ping,
  start,
  textBlock,
  textDelta,
  texts,
  toolBlock,
  usual,
  usualCalls,
  usualUsage,
} from './events.ts';

/** What is not known is skipped and counted; what is known and says nothing is only skipped. */
export const unknownEventCases: readonly MessagesAnswer[] = [
  usual({
    name: 'an event that is not known',
    everySplit: true,
    blocks: [oddEvent({ type: 'message_weather', sky: 'blue' }), ...textBlock(0, 'Yes.')],
    deltas: [text('Yes.')],
    unknownEvents: 1,
  }),
  {
    name: 'unknown events before the start and before the end',
    events: [
      oddEvent({ type: 'prelude' }),
      start(),
      ...textBlock(0, 'Yes.'),
      oddEvent({ type: 'coda' }),
      ...end('end_turn'),
    ],
    deltas: [text('Yes.')],
    ending: 'stop',
    usage: usualUsage,
    unknownEvents: 2,
  },
  usual({
    name: 'an unknown event between the deltas of a text',
    blocks: between(textBlock(0, 'Ye', 's.'), oddEvent({ type: 'content_block_weather', index: 0 })),
    deltas: texts('Ye', 's.'),
    unknownEvents: 3,
  }),
  usualCalls({
    name: 'an unknown event between the pieces of a call',
    blocks: between(
      toolBlock(0, 'toolu_01', 'look', '{"at":', '1}'),
      oddEvent({ type: 'content_block_weather', index: 0 }),
    ),
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at":'), args(0, '1}')],
    unknownEvents: 4,
  }),
  usual({
    name: 'a block that is not known, with all that belongs to it',
    blocks: [
      oddBlock(0, { type: 'hologram', light: '' }),
      blockDelta(0, textDelta('not for clients')),
      oddDelta(0, { type: 'photon_delta', photons: '…' }),
      blockStop(0),
      ...textBlock(1, 'Yes.'),
    ],
    deltas: [text('Yes.')],
    unknownEvents: 2,
  }),
  usual({
    name: 'a block that is not known and has text at its start',
    blocks: [oddBlock(0, { type: 'hologram', text: 'not for clients' }), blockStop(0), ...textBlock(1, 'Yes.')],
    deltas: [text('Yes.')],
    unknownEvents: 1,
  }),
  usual({
    name: 'a delta that is not known within a text',
    blocks: [
      blockStart(0, { type: 'text', text: '', citations: null }),
      oddDelta(0, { type: 'shimmer_delta', text: 'not for clients' }),
      blockDelta(0, textDelta('Yes.')),
      blockStop(0),
    ],
    deltas: [text('Yes.')],
    unknownEvents: 1,
  }),
  usual({
    name: 'deltas without a type, and without a delta',
    blocks: [...textBlock(0, 'Yes.'), oddDelta(0, {}), oddEvent({ type: 'content_block_delta', index: 0 })],
    deltas: [text('Yes.')],
    unknownEvents: 2,
  }),
  usual({
    name: 'members that are not known, at every depth',
    blocks: [
      oddEvent({
        type: 'content_block_start',
        index: 0,
        novelty: {},
        content_block: { type: 'text', text: '', aura: [1], citations: null },
      }),
      oddEvent({ type: 'content_block_delta', index: 0, at: 7, delta: { type: 'text_delta', text: 'Yes.', hue: 3 } }),
      oddEvent({ type: 'content_block_stop', index: 0, content_block: { type: 'text', text: 'no' } }),
    ],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'a ping with members',
    blocks: [oddEvent({ type: 'ping', at: 1 }), ...textBlock(0, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'a ping that is named on the event line only',
    blocks: ['event: ping\ndata: {}\n\n', ...textBlock(0, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'pings without data, or with empty data',
    everySplit: true,
    blocks: ['event: ping\n\n', 'event: ping\ndata:\n\n', 'event: ping\ndata: \n\n', ...textBlock(0, 'Yes.')],
    deltas: [text('Yes.')],
  }),
  usual({
    name: 'objects without a type and a name',
    blocks: ['data: {}\n\n', 'data: {"index":0}\n\n', ...textBlock(0, 'Yes.')],
    deltas: [text('Yes.')],
    unknownEvents: 2,
  }),
  usual({
    name: 'events of another format',
    blocks: [
      oddEvent({ type: 'response.output_text.delta', delta: 'not for clients' }),
      'data: {"choices":[{"delta":{"content":"not for clients"}}]}\n\n',
      ...textBlock(0, 'Yes.'),
    ],
    deltas: [text('Yes.')],
    unknownEvents: 2,
  }),
  {
    name: 'pings only, before and after an empty message',
    events: [ping, start(), ping, ...end('end_turn'), ping],
    deltas: [],
    ending: 'stop',
    usage: usualUsage,
  },
];

function between(events: Events, odd: string): Events {
  return events.flatMap((event, at) => (at === 0 ? [event] : [odd, event]));
}

function oddBlock(index: number, block: object): string {
  return oddEvent({ type: 'content_block_start', index, content_block: block });
}

function oddDelta(index: number, delta: object): string {
  return oddEvent({ type: 'content_block_delta', index, delta });
}
