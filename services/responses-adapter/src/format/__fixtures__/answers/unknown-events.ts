import { args, call, text } from '@gateway/testkit/adapters';
import {
  argumentsDelta,
  errorEvent,
  itemAdded,
  itemDone,
  messageEvents,
  partDone,
  type ResponsesAnswer,
  textDelta,
} from './events.ts';
import { serverError } from './failures.ts';
import { functionCall, message, textPart } from './items.ts';
import { completed, created } from './responses.ts';
import { altered, frame, json, lines } from './unusual-frames.ts';

const novelty = frame({ type: 'response.novelty.delta', output_index: 0, delta: 'new' });

export const unknownEventCases: readonly ResponsesAnswer[] = [
  {
    name: 'an event that is new, between deltas of text',
    everySplit: true,
    events: [created(), textDelta('Still '), novelty, textDelta('here.'), completed()],
    deltas: [text('Still '), text('here.')],
    ending: 'stop',
    unknownEvents: 1,
  },
  {
    name: 'an event that is new, between deltas of arguments',
    events: [
      created(),
      itemAdded(functionCall('call_1', 'probe')),
      argumentsDelta('{"a"'),
      novelty,
      argumentsDelta(':1}'),
      completed(),
    ],
    deltas: [call(0, 'call_1', 'probe'), args(0, '{"a"'), args(0, ':1}')],
    ending: 'tool_calls',
    unknownEvents: 1,
  },
  {
    name: 'events that are new, before everything else',
    events: [novelty, novelty, created(), textDelta('Hi.'), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
    unknownEvents: 2,
  },
  {
    name: 'events that are new, before a failure',
    events: [created(), novelty, errorEvent('server_error')],
    deltas: [],
    ending: serverError,
    unknownEvents: 1,
  },
  {
    name: 'an event that is new, after the end',
    events: [created(), textDelta('Hi.'), completed(), novelty],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'nothing but events that are new',
    events: [novelty, novelty],
    deltas: [],
    ending: serverError,
    unknownEvents: 2,
  },
  {
    name: 'an event that is named like a hosted tool, but is new',
    events: [created(), frame({ type: 'response.web_search_call.dreaming' }), textDelta('Hi.'), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
    unknownEvents: 1,
  },
  {
    name: 'an event without any type',
    events: [created(), json('{}'), json('{"type":12}'), textDelta('Hi.'), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
    unknownEvents: 2,
  },
  {
    name: 'an event line that is new, with data of no type',
    events: [created(), lines('event: novelty', 'data: {"delta":"new"}'), textDelta('Hi.'), completed()],
    deltas: [text('Hi.')],
    ending: 'stop',
    unknownEvents: 1,
  },
  {
    name: 'an item of a kind that is new',
    events: [
      created(),
      altered(itemAdded(message([])), { item: { type: 'dream', id: 'dream_0', content: [textPart('new')] } }),
      altered(itemDone(message([])), { item: { type: 'dream', id: 'dream_0', arguments: '{}' } }),
      ...messageEvents(['Hi.'], { at: 1 }),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'a part of a kind that is new',
    events: [
      created(),
      altered(partDone(textPart('')), { part: { type: 'hologram', text: 'new' } }),
      altered(itemDone(message([])), {
        item: { ...message([]), content: [{ type: 'hologram', text: 'new' }, textPart('Hi.')] },
      }),
      completed(),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
  {
    name: 'members that are new in every event',
    events: [
      altered(created(), { novelty: { deep: [1] } }),
      altered(textDelta('Hi.'), { novelty: null, text: 'not this', arguments: '{}' }),
      altered(completed(), { delta: 'nor this' }),
    ],
    deltas: [text('Hi.')],
    ending: 'stop',
  },
];
