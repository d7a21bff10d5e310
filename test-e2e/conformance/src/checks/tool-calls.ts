import type { Part } from '../double/script.ts';
import type { Reply, Tool } from '../formats/format.ts';
import { Found, shown } from '../formats/found.ts';
import { must } from '../verdict.ts';
import { onReplies, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';

export const weather: Tool = {
  name: 'get_weather',
  description: 'The weather of a place, as conformance asks for it.',
  schema: {
    type: 'object',
    properties: { place: { type: 'string', description: 'A town' }, note: { type: 'string' } },
    required: ['place'],
  },
};

const clock: Tool = { name: 'get_time', description: 'What time it is.', schema: { type: 'object', properties: {} } };

const call = (id: string, name: string, input: object): Part & { readonly kind: 'tool-call' } => ({
  kind: 'tool-call',
  id: `call_conformance${id}`,
  name,
  arguments: JSON.stringify(input),
});

const cases: readonly { readonly name: string; readonly what: string; readonly parts: readonly Part[] }[] = [
  {
    name: 'tool-call',
    what: "A tool call has an id, and the model's name and arguments",
    parts: [{ kind: 'text', text: 'I look.' }, call('A', 'get_weather', { place: 'Utrecht' })],
  },
  {
    name: 'parallel-tool-calls',
    what: 'Several tool calls in one answer stay separate and in order, after reasoning and text',
    parts: [
      { kind: 'reasoning', text: 'Two places, one time.' },
      { kind: 'text', text: 'I look three times.' },
      call('B', 'get_weather', { place: 'Utrecht' }),
      call('C', 'get_weather', { place: 'Ede' }),
      call('D', 'get_time', { zone: 'CET' }),
    ],
  },
  {
    name: 'tool-arguments-with-escapes',
    what: 'Arguments with quotes, backslashes, line ends and emoji are the same JSON, even if deltas end within an escape',
    parts: [call('E', 'get_weather', { place: 'Den "Haag"\\\n\t🏖 é \u2028', 地名: '{"nested": "\\"json\\""}' })],
  },
  {
    name: 'tool-call-without-arguments',
    what: 'A call without arguments has an empty JSON object as its arguments',
    parts: [call('F', 'get_time', {})],
  },
];

/** The client reads exactly the calls of the model. */
export const toolCalls = rulesOfEachFormat((format, endpoint) =>
  cases.map(({ name, what, parts }): Rule => {
    const made = parts.filter((part) => part.kind === 'tool-call').map((one) => [one.name, inputOf(one.arguments)]);
    const judge = ({ toolCalls }: Reply) => {
      const read = toolCalls.map((one) => [one.name, inputOf(one.arguments)]);
      const isSame = JSON.stringify(read) === JSON.stringify(made);
      must(isSame, `the calls should be ${shown(made)}; they are ${shown(read)}`);
      const ids = new Set(toolCalls.map(({ id }) => id));
      must(ids.size === made.length, `each call should have a unique id; they are ${[...ids].join(', ')}`);
    };
    return {
      name: `${endpoint}-${name}`,
      rule: `${what}, streamed or not.`,
      source: sources.tools[endpoint],
      ...onReplies(format, { parts }, judge, { tools: [weather, clock] }),
    };
  }),
);

function inputOf(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Found(json, 'the arguments of the call').not('JSON');
  }
}
