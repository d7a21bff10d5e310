import { args, call, type Delta, text } from '@gateway/testkit/adapters';
import {
  block,
  type MessagesAnswer,
  textBlock,
  thinkingBlock,
  toolBlock,
  toolUse,
  type UsualAnswer,
  usual,
  usualCalls,
} from './events.ts';

const cutReasons = [
  ['max_tokens', 'length'],
  ['model_context_window_exceeded', 'length'],
  ['refusal', 'content_filter'],
] as const;

/** Calls that an answer was cut in, and calls before them. */
export const cutCallCases: readonly MessagesAnswer[] = cutReasons.flatMap(([stopReason, ending]) => {
  const cut = (what: string, answer: Pick<UsualAnswer, 'blocks' | 'deltas'>) =>
    usual({ name: `${what}, cut by ${stopReason}`, everySplit: true, stopReason, ending, ...answer });
  const first = call(0, 'toolu_01', 'look');
  return [
    cut('a call before its first argument', { blocks: toolBlock(0, 'toolu_01', 'look'), deltas: [first] }),
    cut('a call that never stops', { blocks: toolBlock(0, 'toolu_01', 'look').slice(0, -1), deltas: [first] }),
    cut('a call within its arguments', {
      blocks: toolBlock(0, 'toolu_01', 'look', '{"pa'),
      deltas: [first, args(0, '{"pa')],
    }),
    cut('a call after one that has no arguments', {
      blocks: [...toolBlock(0, 'toolu_01', 'look'), ...toolBlock(1, 'toolu_02', 'wipe')],
      deltas: [first, args(0, '{}'), call(1, 'toolu_02', 'wipe')],
    }),
    cut('thinking after a call that has no arguments', {
      blocks: [...toolBlock(0, 'toolu_01', 'look'), ...thinkingBlock(1, 'Hm')],
      deltas: [first, args(0, '{}')],
    }),
    cut('text after a call that has no arguments', {
      blocks: [...toolBlock(0, 'toolu_01', 'look'), ...textBlock(1, 'And')],
      deltas: [first, args(0, '{}'), text('And')],
    }),
    cut('a call whose arguments came whole', {
      blocks: block(0, toolUse('toolu_01', 'look', { a: 1 })),
      deltas: [first, args(0, '{"a":1}')],
    }),
  ];
});

/** Arguments pass as the text that they are, whatever that is. */
export const toolArgumentCases: readonly MessagesAnswer[] = [
  streamed('nested objects and arrays', ['{"a":{"b":[1,{"c":[]}]},', '"d":[[],[[]]]}']),
  streamed('white space and line ends between members', ['{\n  "a" : 1 ,\r\n\t"b":2\n}']),
  streamed('keys that are repeated', ['{"a":1,', '"a":2}']),
  streamed('an empty key, and keys of white space', ['{"":0," ":1,"\\t":2}']),
  streamed('a key that JavaScript objects have of themselves', ['{"__proto__":{"a":1},"constructor":null}']),
  streamed('integers larger than JavaScript keeps', ['{"id":123456789012', '34567890}'], true),
  streamed('numbers in every notation', ['[1.0,-0,1e400,2.50,1E-7]']),
  streamed('escaped quotes and backslashes', ['{"path":"C:\\\\dir\\\\","say":"\\', '"hi\\""}'], true),
  streamed('escaped control characters', ['{"a":"\\u0000\\u001f\\b\\f\\n\\r\\t\\/"}']),
  streamed('an escaped pair of surrogates, cut between the two', ['{"a":"\\ud83d', '\\ude00"}'], true),
  streamed('half of an escaped pair of surrogates', ['{"a":"\\ud83d"}']),
  streamed('characters of several bytes', ['{"plaats":"’s‑Hertogen', 'bosch 🏰"}'], true),
  streamed('line separators that JSON lets stand', ['{"a":"\u2028\u2029"}']),
  streamed('a text, not an object', ['"just text"']),
  streamed('null', ['null']),
  streamed('JSON that ends too early', ['{"a":[1,2']),
  streamed('no JSON at all', ['get the weather']),
  streamed('JSON and something after it', ['{}', '{}']),
  streamed('one character per delta', [...'{"at":[1,2,3]}']),
  streamed('a large text', [`{"content":"${'lorem ipsum '.repeat(9_000)}`, '"}']),
  streamed('deep nesting', ['['.repeat(600), ']'.repeat(600)]),
  streamed('a delta of white space only', [' ', '{}']),
  whole('no members', {}, '{}'),
  whole(
    'members in the order in which they came',
    { z: 1, a: 2, m: { y: 1, b: 2 } },
    '{"z":1,"a":2,"m":{"y":1,"b":2}}',
  ),
  whole('texts with quotes, line ends and emoji', { a: '"\n🙂' }, '{"a":"\\"\\n🙂"}'),
  whole(
    'values of every kind',
    { a: null, b: true, c: -1.5, d: [], e: {} },
    '{"a":null,"b":true,"c":-1.5,"d":[],"e":{}}',
  ),
  whole('null in the place of the object', null, '{}'),
  whole('an array in the place of the object', [], '{}'),
];

function streamed(what: string, pieces: readonly string[], everySplit?: true): MessagesAnswer {
  return calls({
    name: `streamed arguments: ${what}`,
    blocks: toolBlock(0, 'toolu_01', 'look', ...pieces),
    deltas: pieces.map((piece) => args(0, piece)),
    ...(everySplit && { everySplit }),
  });
}

function whole(what: string, input: unknown, given: string): MessagesAnswer {
  return calls({
    name: `arguments in one object: ${what}`,
    blocks: block(0, toolUse('toolu_01', 'look', input)),
    deltas: [args(0, given)],
  });
}

function calls({ deltas, ...rest }: Pick<UsualAnswer, 'name' | 'blocks' | 'deltas' | 'everySplit'>): MessagesAnswer {
  const begun: Delta = call(0, 'toolu_01', 'look');
  return usualCalls({ ...rest, deltas: [begun, ...deltas] });
}
