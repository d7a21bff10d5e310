import { args, call, text } from '@gateway/testkit/adapters';
import { type Events, end, type MessagesAnswer, start, textBlock, toolBlock, usualUsage, wire } from './events.ts';

const plain = wire(start(), ...textBlock(0, 'Grüße'), ...end('end_turn'));
const calling = wire(start(), ...toolBlock(0, 'toolu_01', 'look', '{"at":1}'), ...end('tool_use'));

export const framingCases: readonly MessagesAnswer[] = [
  framed('CR LF', plain.replaceAll('\n', '\r\n'), true),
  framed('CR only', plain.replaceAll('\n', '\r'), true),
  framed('line ends of all kinds', plain.replaceAll(/\ndata/g, '\r\ndata').replaceAll('}\n\n', '}\n\r\n'), true),
  framed('no event lines', plain.replaceAll(/^event: .*\n/gm, '')),
  framed('event lines after the data', plain.replaceAll(/^(event: .*)\n(data: .*)\n/gm, '$2\n$1\n')),
  framed('event lines that say another thing', plain.replaceAll(/^event: .*$/gm, 'event: message')),
  framed('no space after the colons', plain.replaceAll(/^(event|data): /gm, '$1:')),
  framed('spaces after the JSON', plain.replaceAll(/\}$/gm, '}      '), true),
  framed('several spaces before the JSON', plain.replaceAll('data: ', 'data:    ')),
  framed(
    'comments before, within and between events',
    `: hi\n\n${plain.replaceAll('data: ', ': note\ndata: ')}: bye\n\n`,
    true,
  ),
  framed('ids and retry times', plain.replaceAll('event: ', 'id: 7\nretry: 3000\nevent: ')),
  framed('fields that are not known', plain.replaceAll('event: ', 'datum: x\nevents: y\nevent: ')),
  framed('blank lines between events', plain.replaceAll('\n\n', '\n\n\n\n')),
  framed('a byte order mark', `\ufeff${plain}`, true),
  framed(
    'JSON over several data lines',
    plain.replaceAll('"type":"text_delta",', '\ndata: "type":"text_delta",\ndata: '),
  ),
  framed('no blank line at the end', plain.slice(0, -1), true),
  framed('no line end at the end', plain.slice(0, -2)),
  framed('the type on the event line only', plain.replaceAll('data: {"type":"message_', 'data: {"_":"message_')),
  framed(
    'members in another order',
    plain.replace('{"type":"content_block_delta","index":0,', '{"index":0,"type":"content_block_delta",'),
  ),
  framed('white space within the JSON', plain.replaceAll('":', '" :\t').replaceAll(',"', ' ,  "')),
  framed('an end marker before the end', plain.replace('event: message_stop', 'data: [DONE]\n\nevent: message_stop')),
  framed('data that is empty', `data\n\ndata:\n\n${plain}`),
  {
    name: 'framing: CR LF in a call',
    everySplit: true,
    events: [calling.replaceAll('\n', '\r\n')],
    deltas: [call(0, 'toolu_01', 'look'), args(0, '{"at":1}')],
    ending: 'tool_calls',
    usage: usualUsage,
  },
];

function framed(what: string, stream: Events[number], everySplit?: true): MessagesAnswer {
  return {
    name: `framing: ${what}`,
    events: [stream],
    deltas: [text('Grüße')],
    ending: 'stop',
    usage: usualUsage,
    ...(everySplit && { everySplit }),
  };
}
