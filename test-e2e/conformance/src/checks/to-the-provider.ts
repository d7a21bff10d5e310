import type { Scene } from '../check.ts';
import { ask, converse, doubleOf, type Format, hello, type Prompt, type ReplyEndpoint } from '../formats/format.ts';
import { shown } from '../formats/found.ts';
import { type ProviderRequest, requestThatReached } from '../formats/provider-request.ts';
import { must, NotApplicable } from '../verdict.ts';
import { mustAnswerWith } from './errors.ts';
import { ofEach, type Rule, rulesOfEachFormat } from './rules.ts';
import { sources } from './sources.ts';
import { weather } from './tool-calls.ts';

type OfEach<Value> = Readonly<Record<ReplyEndpoint, Value>>;
type Fields = Readonly<Record<string, unknown>>;

interface Sending {
  readonly name: string;
  readonly rule: string;
  readonly source: OfEach<string>;
  readonly prompt: Omit<Prompt, 'text'>;
  /** For one format. */
  readonly more?: OfEach<Fields>;
  judge(request: ProviderRequest): void;
}

const results = [
  { id: 'call_conformance1', name: 'get_weather', arguments: '{"place":"Utrecht"}', result: 'Rain,\n"all" day 🌧' },
  { id: 'call_conformance2', name: 'get_weather', arguments: '{"place":"Ede"}', result: 'Sun' },
];

const images = [
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC',
  'https://upload.wikimedia.org/wikipedia/commons/7/70/Example.png',
];

const schema = {
  type: 'object',
  properties: { colour_of_the_lighthouse: { type: 'string' } },
  required: ['colour_of_the_lighthouse'],
  additionalProperties: false,
};

const sendings: readonly Sending[] = [
  {
    name: 'system-text-reaches-the-provider',
    rule: 'System text reaches the provider as system text, not as user text.',
    source: sources.request,
    prompt: { system: 'You are a lighthouse keeper.' },
    judge({ system, user }) {
      must(system.join('\n').includes('lighthouse keeper'), `it should reach the provider; ${shown(system)} does`);
      must(!user.join('\n').includes('lighthouse keeper'), 'it should not be words of the user; it is');
    },
  },
  {
    name: 'earlier-turns-reach-the-provider',
    rule: 'Earlier turns reach the provider in order, each with its role.',
    source: sources.request,
    prompt: { before: ['First question.', 'First answer.', 'Second question.', 'Second answer.'] },
    judge({ user, assistant }) {
      mustBe('the turns of the user', user.slice(0, 2), ['First question.', 'Second question.']);
      mustBe('the turns of the assistant', assistant, ['First answer.', 'Second answer.']);
    },
  },
  {
    name: 'tools-reach-the-provider',
    rule: 'Tools reach the provider with name, description and schema.',
    source: sources.tools,
    prompt: { tools: [weather] },
    judge({ tools: [tool], body }) {
      must(tool !== undefined, 'the tool should reach the provider; it does not');
      tool.at('name').is(weather.name);
      tool.at('description').is(weather.description);
      must(JSON.stringify(body.value).includes('"A town"'), 'the schema should reach the provider; it does not');
    },
  },
  {
    name: 'tool-results-reach-the-provider',
    rule: 'Tool calls and results reach the provider, each result with the id of its call.',
    source: sources.tools,
    prompt: { tools: [weather], toolResults: results },
    judge({ toolCalls, toolResults }) {
      const inputs = results.map((call): unknown => JSON.parse(call.arguments));
      mustBe(
        'the inputs of the calls',
        toolCalls.map(({ input }) => input),
        inputs,
      );
      mustBe(
        'the results',
        toolResults.map(({ text }) => text),
        results.map(({ result }) => result),
      );
      mustBe(
        'the ids of the results',
        toolResults.map(({ id }) => id),
        toolCalls.map(({ id }) => id),
      );
    },
  },
  {
    name: 'images-reach-the-provider',
    rule: 'An inline image, and the URL of another one, reach the provider unchanged.',
    source: sources.images,
    prompt: { images },
    judge: (request) => mustBe('the images', request.images, images),
  },
  {
    name: 'schema-of-the-answer-reaches-the-provider',
    rule: 'The JSON schema of the answer reaches the provider.',
    source: sources.structured,
    prompt: {},
    more: {
      chat: { response_format: { type: 'json_schema', json_schema: { name: 'lighthouse', schema, strict: true } } },
      messages: { output_config: { format: { type: 'json_schema', schema } } },
      responses: { text: { format: { type: 'json_schema', name: 'lighthouse', schema, strict: true } } },
    },
    judge: ({ body }) =>
      must(JSON.stringify(body.value).includes('colour_of_the_lighthouse'), 'the schema should be there; it is not'),
  },
];

const choices: OfEach<readonly Fields[]> = {
  chat: [
    { tool_choice: 'required' },
    { tool_choice: 'none' },
    { tool_choice: { type: 'function', function: { name: weather.name } } },
    { parallel_tool_calls: false },
  ],
  messages: [
    { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    { tool_choice: { type: 'any' } },
    { tool_choice: { type: 'none' } },
    { tool_choice: { type: 'tool', name: weather.name } },
  ],
  responses: [
    { tool_choice: 'required' },
    { tool_choice: 'none' },
    { tool_choice: { type: 'function', name: weather.name } },
    { parallel_tool_calls: false },
  ],
};

/** The provider gets what the client sends, in the gateway's format of the request. */
export const toTheProvider = rulesOfEachFormat((format, endpoint): readonly Rule[] => [
  ...sendings.map(
    ({ name, rule, source, prompt, more, judge }): Rule => ({
      name: `${endpoint}-${name}`,
      rule,
      source: source[endpoint],
      needs: ['double'],
      run: async (scene) =>
        judge(await whatReached(scene, format, { ...prompt, ...(more && { more: more[endpoint] }) })),
    }),
  ),
  {
    name: `${endpoint}-takes-a-tool-choice`,
    rule: 'Tool choices are accepted: any tool, a named tool, none, and one call at a time.',
    source: sources.tools[endpoint],
    // Some live models can't be made to call a tool.
    needs: ['double'],
    run: (scene) =>
      ofEach(Object.fromEntries(choices[endpoint].map((more) => [JSON.stringify(more), more])), async (more) =>
        mustAnswerWith(await ask(scene, format, { ...hello, tools: [weather], more }), 200),
      ),
  },
]);

/** Sends the prompt with a marker, and returns the provider's request. */
export async function whatReached(scene: Scene, format: Format, prompt: Omit<Prompt, 'text'>) {
  using scripted = doubleOf(scene).script({ parts: [{ kind: 'text', text: '{}' }] });
  await converse(scene, format, 'stream', { ...prompt, text: `Read this. ${scripted.marker}` });
  return requestThatReached(scripted);
}

/**
 * @throws NotApplicable if the gateway's request to the provider is in another format, which may
 * lack the fields.
 */
export async function reachedInSameFormat(scene: Scene, format: Format, prompt: Omit<Prompt, 'text'>) {
  return inFormat(format, await whatReached(scene, format, prompt));
}

export function inFormat({ endpoint }: Format, request: ProviderRequest): ProviderRequest {
  if (request.format !== endpoint) throw new NotApplicable('the gateway uses another provider format');
  return request;
}

function mustBe(what: string, found: unknown, expected: unknown): void {
  const isSame = JSON.stringify(found) === JSON.stringify(expected);
  must(isSame, `${what} should be ${shown(expected)}; at the provider they are ${shown(found)}`);
}
