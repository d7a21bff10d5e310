import { args, call, type Delta, text } from '@gateway/testkit/adapters';
import {
  blockStart,
  broken,
  type Events,
  end,
  type MessagesAnswer,
  oddEvent,
  start,
  startUsage,
  textBlock,
  toolUse,
  wire,
} from './events.ts';

const called = toolUse('toolu_01', 'look');

/** An event that is there to say something and can't be read: the answer can't be read any further. */
export const brokenCases: readonly MessagesAnswer[] = [
  unreadable('JSON that ends too early', 'data: {"type":"content_block_delta","index":0,\n\n', true),
  unreadable('no JSON', 'data: hello\n\n'),
  unreadable('an HTML page', 'data: <html><body>502 Bad Gateway</body></html>\n\n'),
  unreadable('JSON twice', 'data: {"type":"ping"}{"type":"ping"}\n\n'),
  unreadable('an array', 'data: [{"type":"ping"}]\n\n'),
  unreadable('a number', 'data: 1\n\n'),
  unreadable('a text', 'data: "ping"\n\n'),
  unreadable('null', 'data: null\n\n'),
  unreadable('undefined, written by a careless backend', 'data: undefined\n\n'),
  unreadable('a raw line end within a JSON text', 'data: {"type":"ping","a":"b\ndata: c"}\n\n'),
  unreadable('a text delta without text', delta({ type: 'text_delta' })),
  unreadable('a text delta whose text is null', delta({ type: 'text_delta', text: null })),
  unreadable(
    'a text delta without an index',
    oddEvent({ type: 'content_block_delta', delta: { type: 'text_delta', text: 'a' } }),
  ),
  unreadable('a text delta with a negative index', delta({ type: 'text_delta', text: 'a' }, -1)),
  unreadable('a text delta whose index is a text', delta({ type: 'text_delta', text: 'a' }, '0')),
  unreadable('arguments without their text', delta({ type: 'input_json_delta' })),
  unreadable('arguments as an object', delta({ type: 'input_json_delta', partial_json: { at: 1 } })),
  unreadable('a block without content', oddEvent({ type: 'content_block_start', index: 1 })),
  unreadable('a block without a type', begun({ text: 'a' })),
  unreadable(
    'a block without an index',
    oddEvent({ type: 'content_block_start', content_block: { type: 'text', text: 'a' } }),
  ),
  unreadable('a call without an id', begun({ type: 'tool_use', name: 'look', input: {} })),
  unreadable('a call without a name', begun({ type: 'tool_use', id: 'toolu_01', input: {} })),
  unreadable('a call whose id is a number', begun({ type: 'tool_use', id: 1, name: 'look', input: {} })),
  unreadable('the stop of a block without an index', oddEvent({ type: 'content_block_stop' })),
  cut('within the name of an event', 'event: content_bl'),
  cut('between the lines of an event', 'event: content_block_delta\n'),
  cut('within the JSON of an event', 'event: content_block_delta\ndata: {"type":"content_block_delta","ind', true),
  cut('within a character', 'event: content_block_delta\ndata: {"type":"content_block_delta","delta":{"text":"\ufffd'),
  cut('within the end', 'event: message_stop\ndata: {"type":"message_st', true),
  cut('after the name of the end', 'event: message_stop\n'),
  {
    name: 'cut off: within the first event',
    everySplit: true,
    events: [wire(start()).slice(0, 120)],
    deltas: [],
    ending: broken,
  },
  {
    name: 'cut off: in the midst of arguments',
    events: [start(), blockStart(0, called), delta({ type: 'input_json_delta', partial_json: '{"at' })],
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at')],
    ending: broken,
    usage: startUsage,
  },
  {
    name: 'not an event stream: an HTML page in the place of the answer',
    events: ['<!DOCTYPE html>\n<html>\n\n<body>Bad Gateway</body>\n\n</html>\n'],
    deltas: [],
    ending: broken,
  },
  {
    name: 'not an event stream: a JSON object in the place of the answer',
    events: ['{"type":"message","content":[{"type":"text","text":"hello"}],"stop_reason":"end_turn"}'],
    deltas: [],
    ending: broken,
  },
];

function unreadable(what: string, event: Events[number], everySplit?: true): MessagesAnswer {
  return {
    ...failing(`unreadable: ${what}`, [...textBlock(0, 'Ye'), event, ...end('end_turn')], [text('Ye')]),
    ...(everySplit && { everySplit }),
  };
}

function cut(where: string, rest: string, everySplit?: true): MessagesAnswer {
  return {
    ...failing(`cut off: ${where}`, [...textBlock(0, 'Ye'), rest], [text('Ye')]),
    ...(everySplit && { everySplit }),
  };
}

function failing(name: string, events: Events, deltas: readonly Delta[]): MessagesAnswer {
  return { name, events: [start(), ...events], deltas, ending: broken, usage: startUsage };
}

function delta(content: object, index: unknown = 0): string {
  return oddEvent({ type: 'content_block_delta', index, delta: content });
}

function begun(content: object): string {
  return oddEvent({ type: 'content_block_start', index: 1, content_block: content });
}
