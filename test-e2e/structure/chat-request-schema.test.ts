import { parseChatRequest, reasoningEfforts } from '@gateway/chat';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mutated } from '../contract/mutated-json.ts';
import { OpenApiDocument } from '../contract/openapi-document.ts';

const isLong = process.env.FAULTS === 'long';

const document = OpenApiDocument.read();
const schema = '#/components/schemas/ChatCompletionRequest';

/**
 * The published schema and the parser agree on every JSON value. Two rules are left out here,
 * because the parser checks them on the bytes and a schema can't express them: the body is JSON in
 * UTF-8, and the last value of a repeated key counts.
 */
describe('the published schema of a chat completion request', () => {
  it('accepts the same values as the parser', () => {
    fc.assert(
      fc.property(chatRequest(), (request) => {
        expect(document.problems(schema, request)).toEqual([]);
        expect(parserTakes(request)).toBe(true);
      }),
    );
  });

  it('agrees with the parser on requests with a mistake in them', () => {
    const verdicts = { taken: 0, refused: 0 };
    fc.assert(
      fc.property(mutated(chatRequest(), values), (request) => {
        const taken = document.problems(schema, request).length === 0;
        verdicts[taken ? 'taken' : 'refused']++;
        expect(taken, JSON.stringify(request)).toBe(parserTakes(request));
      }),
      { numRuns: isLong ? 4_000 : 1_500 },
    );
    expect(verdicts.taken).toBeGreaterThan(200);
    expect(verdicts.refused).toBeGreaterThan(200);
  });

  it('agrees with the parser on anything else', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(document.problems(schema, value).length === 0).toBe(parserTakes(value));
      }),
    );
  });
});

/** Throws if the parser fails with anything but a refusal of the request. */
function parserTakes(value: unknown): boolean {
  try {
    parseChatRequest(Buffer.from(JSON.stringify(value)));
    return true;
  } catch (thrown) {
    const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
    if (code !== 'invalid_request' && code !== 'unsupported_content') throw thrown;
    return false;
  }
}

const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const name = fc.constantFrom('weather', 'find_file', 'x');
const someObject = fc.constantFrom({}, { type: 'object', properties: {} });

function chatRequest(): fc.Arbitrary<Record<string, unknown>> {
  const tokens = optional(fc.integer({ min: 1, max: 100_000 }));
  return fc.record(
    {
      model: fc.constantFrom('gateway/sterk', 'gpt-5.5'),
      messages: fc.array(message(), { minLength: 1, maxLength: 4 }),
      stream: optional(fc.boolean()),
      stream_options: optional(fc.record({ include_usage: optional(fc.boolean()) }, { requiredKeys: [] })),
      max_completion_tokens: tokens,
      max_tokens: tokens,
      stop: optional(fc.oneof(fc.string(), fc.array(fc.string(), { maxLength: 3 }))),
      tools: optional(fc.array(fc.record({ type: optional(fc.constant('function')), function: tool() }))),
      tool_choice: optional(
        fc.oneof(
          fc.constantFrom('none', 'auto', 'required'),
          fc.record({ type: fc.constant('function'), function: fc.record({ name }) }, { requiredKeys: ['function'] }),
        ),
      ),
      parallel_tool_calls: optional(fc.boolean()),
      response_format: optional(responseFormat()),
      reasoning_effort: optional(fc.constantFrom(...reasoningEfforts)),
      temperature: optional(fc.double({ min: 0, max: 2, noNaN: true })),
      top_p: optional(fc.double({ min: 0, max: 1, noNaN: true })),
      n: optional(fc.constant(1)),
      prompt_cache_key: fc.jsonValue(),
      seed: fc.jsonValue(),
    },
    { requiredKeys: ['model', 'messages'] },
  );
}

function tool() {
  const members = {
    name,
    description: optional(fc.string()),
    parameters: optional(someObject),
    strict: optional(fc.boolean()),
  };
  return fc.record(members, { requiredKeys: ['name'] });
}

function responseFormat() {
  const definition = {
    name,
    description: optional(fc.string()),
    schema: optional(someObject),
    strict: optional(fc.boolean()),
  };
  return fc.oneof(
    fc.record({ type: fc.constantFrom('text', 'json_object') }),
    fc.record({ type: fc.constant('json_schema'), json_schema: fc.record(definition, { requiredKeys: ['name'] }) }),
  );
}

function message(): fc.Arbitrary<unknown> {
  const textPart = fc.record({ type: fc.constant('text'), text: fc.string() });
  const texts = fc.oneof(fc.string(), fc.array(textPart, { maxLength: 2 }));
  const parts = <T>(part: fc.Arbitrary<T>) =>
    fc.oneof(fc.string(), fc.array(fc.oneof(textPart, part), { maxLength: 2 }));
  const refusal = fc.record({ type: fc.constant('refusal'), refusal: fc.string() });
  const call = fc.record(
    {
      id: fc.constantFrom('call_1', 'call_2'),
      type: optional(fc.constant('function')),
      function: fc.record({ name, arguments: optional(fc.string()) }, { requiredKeys: ['name'] }),
    },
    { requiredKeys: ['id', 'function'] },
  );
  return fc.oneof(
    fc.record({ role: fc.constantFrom('system', 'developer'), content: texts }),
    fc.record({ role: fc.constant('user'), content: parts(imagePart()) }),
    fc.record(
      {
        role: fc.constant('assistant'),
        content: parts(refusal),
        refusal: optional(fc.string()),
        tool_calls: optional(fc.array(call, { maxLength: 2 })),
      },
      { requiredKeys: ['role', 'content'] },
    ),
    fc.record({
      role: fc.constant('assistant'),
      content: fc.constant(null),
      tool_calls: fc.array(call, { minLength: 1, maxLength: 2 }),
    }),
    fc.record({ role: fc.constant('tool'), tool_call_id: fc.constantFrom('call_1', 'call_2'), content: texts }),
  );
}

function imagePart() {
  const url = fc.constantFrom('https://example.org/cat.png', 'HTTP://x', 'data:image/png;base64,AAAA');
  const detail = optional(fc.constantFrom('auto', 'low', 'high', 'original'));
  const image = fc.record({ url, detail }, { requiredKeys: ['url'] });
  return fc.record({ type: fc.constant('image_url'), image_url: fc.oneof(url, image) });
}

/** Invalid values that replace a valid one. */
const values = fc.oneof(
  fc.constantFrom<unknown>(
    null,
    true,
    false,
    0,
    1,
    2,
    -1,
    1.5,
    2 ** 53,
    '',
    'text',
    'function',
    'user',
    'image_url',
    [],
    {},
  ),
  fc.constantFrom<unknown>(
    [{}],
    ['text'],
    { type: 'text', text: 'x' },
    { name: 'x' },
    { type: 'function' },
    'ftp://x',
    'data:',
  ),
  fc.constantFrom<unknown>(
    'system',
    'assistant',
    'tool',
    'refusal',
    'json_schema',
    'auto',
    'high',
    'https://x',
    'http://',
  ),
);
