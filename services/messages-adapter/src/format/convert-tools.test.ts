import type { FunctionTool, ToolChoice } from '@gateway/chat';
import { describe, expect, it } from 'vitest';
import { convertTools } from './convert-tools.ts';
import { modelFamilyOf } from './model-families.ts';

const sonnet = modelFamilyOf('claude-sonnet-4-6');
const opus55 = modelFamilyOf('claude-opus-5-5');
const noCalls: ReadonlySet<string> = new Set();

describe('the tools', () => {
  it('become tools with an object schema', () => {
    const parameters = { properties: { city: { type: 'string' } }, required: ['city'] };
    const tools = [tool('one', { parameters, description: 'First.' }), tool('two')];
    expect(convert({ tools }).tools).toEqual([
      { name: 'one', description: 'First.', input_schema: { type: 'object', ...parameters } },
      { name: 'two', input_schema: { type: 'object', properties: {} } },
    ]);
  });

  it('have the branches of a schema merged into one object', () => {
    const parameters = {
      type: 'object',
      properties: { id: { type: 'string' } },
      required: ['id'],
      anyOf: [
        { properties: { city: { type: 'string' }, unit: { type: 'string' } }, required: ['city', 'unit'] },
        { $ref: '#/$defs/ByPlace' },
      ],
      allOf: [{ properties: { day: { type: 'integer' } }, required: ['day'] }],
      $defs: { ByPlace: { properties: { unit: { type: 'number' } }, required: ['unit'] } },
    };
    expect(convert({ tools: [tool('weather', { parameters })] }).tools?.[0]?.input_schema).toEqual({
      type: 'object',
      properties: {
        id: { type: 'string' },
        day: { type: 'integer' },
        city: { type: 'string' },
        unit: { anyOf: [{ type: 'string' }, { type: 'number' }] },
      },
      required: ['id', 'day', 'unit'],
      $defs: parameters.$defs,
    });
  });

  it('are refused by name when they take no object', () => {
    const tools = [tool('count', { parameters: { type: 'array', items: { type: 'string' } } })];
    expect(() => convert({ tools })).toThrow(/of type object, which those of the tool "count" are not/);
  });

  it.each([
    ['a name with a dot', [tool('one'), tool('files.read')], /^tools\[1\]\.function\.name must be 1 to 128/],
    ['a name that is too long', [tool('x'.repeat(129))], /^tools\[0\]\.function\.name must be 1 to 128/],
    ['a name twice', [tool('one'), tool('one')], /^tools\[1\]\.function\.name must not be the name of another/],
  ])('are refused with %s', (_, tools, problem) => {
    expect(() => convert({ tools })).toThrow(problem);
  });

  it('stay strict where the model and the schema allow it', () => {
    const strict = {
      parameters: { type: 'object', properties: { n: { type: 'integer', minimum: 1 } }, required: ['n'] },
    };
    const [converted] = convert({ tools: [tool('count', { ...strict, strict: true })] }).tools ?? [];
    expect(converted).toEqual({
      name: 'count',
      strict: true,
      input_schema: {
        type: 'object',
        properties: { n: { type: 'integer', description: '(minimum: 1)' } },
        required: ['n'],
        additionalProperties: false,
      },
    });
    const older = convertTools(
      { tools: [tool('count', { ...strict, strict: true })], toolChoice: undefined, parallelToolCalls: undefined },
      modelFamilyOf('claude-sonnet-4-20250514'),
      noCalls,
    );
    expect(older.tools?.[0]).toEqual({ name: 'count', input_schema: strict.parameters });
  });

  it('are not strict when all schemas together have too many optional members', () => {
    const properties = Object.fromEntries(Array.from({ length: 13 }, (_, n) => [`p${n}`, { type: 'string' }]));
    const parameters = { type: 'object', properties };
    const tools = [tool('one', { parameters, strict: true }), tool('two', { parameters, strict: true })];
    expect(convert({ tools }).tools?.some((converted) => converted.strict)).toBe(false);
    expect(convert({ tools: tools.slice(0, 1) }).tools?.[0]?.strict).toBe(true);
  });

  it.each(['with space', 'filter[id]', '$top', '', 'ü', 'x'.repeat(65), 'line\n'])(
    'can\u2019t have the property %j, wherever the schema names it',
    (name) => {
      const properties = { fine: { type: 'string' }, [name]: { type: 'string' } };
      const object = { type: 'object', properties, required: ['fine', name], additionalProperties: false };
      const schemas = [object, { type: 'object', anyOf: [object] }, { allOf: [object] }];
      schemas.push({ $defs: { a: object }, oneOf: [{ $ref: '#/$defs/a' }] } as never);
      for (const parameters of schemas) {
        for (const strict of [true, false]) {
          expect(() => convert({ tools: [tool('fine'), tool('one', { parameters, strict })] })).toThrow(
            expect.objectContaining({ code: 'invalid_request', message: expect.stringContaining('tools[1]') }),
          );
        }
      }
    },
  );

  it('can have any property within an argument, and the allowed ones up to 64 characters', () => {
    const properties = { ['a.b_c-9'.padEnd(64, 'x')]: { type: 'object', properties: { 'with space': {} } } };
    expect(convert({ tools: [tool('one', { parameters: { type: 'object', properties } })] }).tools).toHaveLength(1);
  });

  it('are made up from the conversation when it has calls and the request has none', () => {
    const settings = convertTools(
      { tools: [], toolChoice: undefined, parallelToolCalls: false },
      sonnet,
      new Set(['look_up']),
    );
    expect(settings).toEqual({
      tools: [{ name: 'look_up', input_schema: { type: 'object', properties: {} } }],
      toolChoice: { type: 'none' },
    });
    expect(convert({ tools: [], toolChoice: 'auto' })).toEqual({});
  });
});

describe('the choice', () => {
  it.each<[ToolChoice | undefined, boolean | undefined, unknown]>([
    [undefined, undefined, undefined],
    ['auto', true, undefined],
    ['auto', false, { type: 'auto', disable_parallel_tool_use: true }],
    ['none', false, { type: 'none' }],
    ['required', undefined, { type: 'any' }],
    ['required', false, { type: 'any', disable_parallel_tool_use: true }],
    [{ functionName: 'one' }, undefined, { type: 'tool', name: 'one' }],
    [{ functionName: 'one' }, false, { type: 'tool', name: 'one', disable_parallel_tool_use: true }],
  ])('%j with parallel calls %j is %j', (toolChoice, parallelToolCalls, expected) => {
    const settings = convert({ tools: [tool('one'), tool('two')], toolChoice, parallelToolCalls });
    expect(settings.toolChoice).toEqual(expected);
    expect(settings.instruction).toBeUndefined();
  });

  it('becomes an instruction for a model that cannot be forced', () => {
    const tools = [tool('one'), tool('two')];
    const required = convertTools({ tools, toolChoice: 'required', parallelToolCalls: false }, opus55, noCalls);
    expect(required).toMatchObject({
      tools: [{ name: 'one' }, { name: 'two' }],
      toolChoice: { type: 'auto', disable_parallel_tool_use: true },
      instruction: expect.stringContaining('at least one of the tools'),
    });
    const named = convertTools(
      { tools, toolChoice: { functionName: 'two' }, parallelToolCalls: undefined },
      opus55,
      noCalls,
    );
    expect(named.tools?.map(({ name }) => name)).toEqual(['two']);
    expect(named.toolChoice).toBeUndefined();
    expect(named.instruction).toContain('"two"');
  });

  it('must be one of the tools', () => {
    expect(() => convert({ tools: [tool('one')], toolChoice: { functionName: 'two' } })).toThrow(
      /^tool_choice\.function\.name/,
    );
  });
});

function convert(request: {
  readonly tools: readonly FunctionTool[];
  readonly toolChoice?: ToolChoice | undefined;
  readonly parallelToolCalls?: boolean | undefined;
}) {
  return convertTools({ toolChoice: undefined, parallelToolCalls: undefined, ...request }, sonnet, noCalls);
}

function tool(name: string, members: Partial<FunctionTool> = {}): FunctionTool {
  return { name, description: undefined, parameters: undefined, strict: undefined, ...members };
}
