import { args, call } from '@gateway/testkit/adapters';
import {
  end,
  type MessagesAnswer,
  start,
  textBlock,
  texts,
  toolBlock,
  usual,
  usualCalls,
  usualUsage,
  wire,
} from './events.ts';

export const unicodeCases: readonly MessagesAnswer[] = [
  said('two bytes per character', ['Grü', 'ße, señor'], true),
  said('three bytes per character', ['こん', 'にちは', '世界'], true),
  said('four bytes per character', ['👋', '🏽𝒳', '𠮷'], true),
  said('emoji of several code points, cut between them', ['👩', '\u200d', '👩\u200d👧', '🇳', '🇱'], true),
  said('a letter and its accent in two deltas', ['e', '\u0301']),
  said('text from right to left', ['שלום', ' مرحبا', '\u200f!']),
  said('a pair of surrogates in two deltas', ['\ud83d', '\ude00'], true),
  said('half a pair of surrogates', ['cut \ud83d']),
  said('control characters', ['\u0000\u0001\u0007\b\f\u001b\u007f', '\u0085']),
  said('line ends of every kind', ['a\nb', '\r\nc\rd', '\u2028e\u2029']),
  said('a byte order mark', ['\ufeffa', '\ufeff']),
  said('characters that stand for nothing', ['\ufffd', '\uffff', '\u{10ffff}']),
  said('quotes, backslashes and slashes', ['"\\"', '\\n', '</script>', "'"], true),
  said('a whole alphabet of escapes', ['\\u0041', '\\x41', '&amp;', '%20']),
  escaped('all that is not ASCII', ['Grüße ', '👋🏽', ' 世界'], true),
  escaped('half a pair of surrogates', ['\ud83d', '\ude00 and \udc00']),
  usualCalls({
    name: 'unicode: the id and name of a call',
    blocks: toolBlock(0, 'toolu_é🙂', 'météo', '{}'),
    deltas: [call(0, 'toolu_é🙂', 'météo'), args(0, '{}')],
  }),
];

function said(what: string, pieces: readonly string[], everySplit?: true): MessagesAnswer {
  return usual({
    name: `unicode: ${what}`,
    blocks: textBlock(0, ...pieces),
    deltas: texts(...pieces),
    ...(everySplit && { everySplit }),
  });
}

/** The same, written with `\u` escapes. */
function escaped(what: string, pieces: readonly string[], everySplit?: true): MessagesAnswer {
  const stream = wire(start(), ...textBlock(0, ...pieces), ...end('end_turn'));
  const ascii = stream.replaceAll(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return {
    name: `unicode in escapes: ${what}`,
    events: [ascii],
    deltas: texts(...pieces),
    ending: 'stop',
    usage: usualUsage,
    ...(everySplit && { everySplit }),
  };
}
