import { text } from '@gateway/testkit/adapters';
import {
  block,
  blockDelta,
  blockStart,
  blockStop,
  end,
  type MessagesAnswer,
  ping,
  start,
  textBlock,
  textDelta,
  texts,
  usual,
  usualUsage,
} from './events.ts';

const cited = {
  type: 'char_location',
  cited_text: 'Grass is green.',
  document_index: 0,
  document_title: null,
  file_id: null,
  start_char_index: 0,
  end_char_index: 15,
} as const;

export const textCases: readonly MessagesAnswer[] = [
  usual({ name: 'text in one delta', blocks: textBlock(0, 'Hello!'), deltas: [text('Hello!')] }),
  usual({
    name: 'text in several deltas',
    blocks: textBlock(0, 'Hel', 'lo', ', ', 'world', '!'),
    deltas: texts('Hel', 'lo', ', ', 'world', '!'),
  }),
  usual({ name: 'a text block that begins and stops empty', blocks: textBlock(0), deltas: [] }),
  usual({
    name: 'empty text deltas between others',
    blocks: textBlock(0, '', 'a', '', 'b', ''),
    deltas: texts('a', 'b'),
  }),
  usual({
    name: 'a text block that begins with text',
    blocks: block(0, { type: 'text', text: 'Well', citations: null }, textDelta(', yes.')),
    deltas: texts('Well', ', yes.'),
  }),
  usual({
    name: 'a text block that comes whole, without deltas',
    blocks: block(0, { type: 'text', text: 'All at once.', citations: null }),
    deltas: [text('All at once.')],
  }),
  usual({
    name: 'white space only',
    blocks: textBlock(0, ' ', '\n', '\t\n  '),
    deltas: texts(' ', '\n', '\t\n  '),
  }),
  usual({
    name: 'text that begins and ends with line ends',
    blocks: textBlock(0, '\n\n', 'So', '\n'),
    deltas: texts('\n\n', 'So', '\n'),
  }),
  usual({ name: 'one delta per character', blocks: textBlock(0, ...'stream'), deltas: texts(...'stream') }),
  usual({ name: 'a long delta', blocks: textBlock(0, 'word '.repeat(20_000)), deltas: [text('word '.repeat(20_000))] }),
  usual({
    name: 'several text blocks, joined with nothing between them',
    blocks: [...textBlock(0, 'The grass '), ...textBlock(1, 'is'), ...textBlock(2, ' green.')],
    deltas: texts('The grass ', 'is', ' green.'),
  }),
  usual({
    name: 'a sentence that citations split into blocks',
    everySplit: true,
    blocks: [
      ...textBlock(0, 'The grass '),
      ...block(
        1,
        { type: 'text', text: '', citations: [] },
        { type: 'citations_delta', citation: cited },
        textDelta('is green'),
        { type: 'citations_delta', citation: { ...cited, start_char_index: 9 } },
      ),
      ...textBlock(2, '.'),
    ],
    deltas: texts('The grass ', 'is green', '.'),
  }),
  usual({
    name: 'two text blocks at once, in the order of their deltas',
    blocks: [
      blockStart(0, { type: 'text', text: '', citations: null }),
      blockStart(1, { type: 'text', text: '', citations: null }),
      blockDelta(0, textDelta('a')),
      blockDelta(1, textDelta('b')),
      blockDelta(0, textDelta('c')),
      blockStop(1),
      blockStop(0),
    ],
    deltas: texts('a', 'b', 'c'),
  }),
  usual({
    name: 'pings anywhere',
    everySplit: true,
    blocks: [ping, ...textBlock(0, 'a').flatMap((event) => [event, ping]), ...textBlock(1, 'b')],
    deltas: texts('a', 'b'),
  }),
  usual({
    name: 'text that looks like JSON stays text',
    blocks: textBlock(0, '{"answer":', ' "42"}'),
    deltas: texts('{"answer":', ' "42"}'),
    wantsJson: true,
  }),
  usual({
    name: 'JSON that was asked for, in two blocks',
    blocks: [...textBlock(0, '{"a":'), ...textBlock(1, '1}')],
    deltas: texts('{"a":', '1}'),
    wantsJson: true,
  }),
  usual({
    name: 'text that looks like events stays text',
    everySplit: true,
    blocks: textBlock(0, 'event:message_stop\ndata:{"type":"message_stop"}\n\n', 'data:[DONE]\n\n'),
    deltas: texts('event:message_stop\ndata:{"type":"message_stop"}\n\n', 'data:[DONE]\n\n'),
  }),
  {
    name: 'an answer without a block',
    events: [start(), ...end('end_turn')],
    deltas: [],
    ending: 'stop',
    usage: usualUsage,
  },
];
