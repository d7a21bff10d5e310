import { reasoningEfforts } from '@gateway/chat';
import fc from 'fast-check';
import { arbitraryConversation, arbitraryFunctionName, arbitraryText } from './arbitrary-conversation.ts';
import type { ChatRequestBody, ClientResponseFormat, ClientTool, ClientToolChoice } from './chat-request-body.ts';

/**
 * Chat requests of a careful client: valid by the specification, so that a provider has no reason
 * to refuse the translation. `JSON.stringify` turns one into a body.
 * @param argumentName the names of the arguments of tools, for providers that do not take any name
 */
export function arbitraryChatRequest(argumentName = arbitraryPropertyName()): fc.Arbitrary<ChatRequestBody> {
  return fc
    .tuple(arbitraryConversation(), toolMembers(argumentName), otherMembers())
    .map(([messages, tools, others]) => ({ model: 'gateway/sterk', messages, ...tools, ...others }));
}

type ToolMembers = Pick<ChatRequestBody, 'tools' | 'tool_choice' | 'parallel_tool_calls'>;

function toolMembers(argumentName: fc.Arbitrary<string>): fc.Arbitrary<ToolMembers> {
  const tools = fc.uniqueArray(tool(argumentName), { maxLength: 4, selector: ({ function: { name } }) => name });
  return fc.option(tools, { nil: undefined }).chain((declared): fc.Arbitrary<ToolMembers> => {
    if (declared === undefined) return fc.constant({});
    const members = {
      tools: fc.constant(declared),
      tool_choice: toolChoice(declared),
      parallel_tool_calls: fc.boolean(),
    };
    return fc.record(members, { requiredKeys: ['tools'] });
  });
}

/** A choice among the declared tools. */
function toolChoice(tools: readonly ClientTool[]): fc.Arbitrary<ClientToolChoice> {
  const named = tools.map(({ function: { name } }) => ({ type: 'function', function: { name } }) as const);
  return fc.constantFrom<ClientToolChoice>('none', 'auto', 'required', ...named);
}

function tool(argumentName: fc.Arbitrary<string>): fc.Arbitrary<ClientTool> {
  const parameters = objectSchema(argumentName);
  const definition = fc.record(
    { name: arbitraryFunctionName(), description: arbitraryText(), parameters, strict: fc.boolean() },
    { requiredKeys: ['name'] },
  );
  return fc.record({ type: fc.constant('function'), function: definition });
}

/**
 * Object schemas without additional properties and with all properties required, as strict mode
 * demands.
 */
function objectSchema(name: fc.Arbitrary<string>): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  return fc.dictionary(name, property(), { maxKeys: 4 }).map((properties) => ({
    type: 'object',
    properties: { ...properties },
    required: Object.keys(properties),
    additionalProperties: false,
  }));
}

function arbitraryPropertyName(): fc.Arbitrary<string> {
  return fc.oneof(fc.constantFrom('city', 'unit', 'naïve key'), fc.stringMatching(/^[a-z_]{1,12}$/));
}

function property(): fc.Arbitrary<Readonly<Record<string, unknown>>> {
  return fc.constantFrom(
    { type: 'string', description: 'Where, as "city, country".' },
    { type: 'string', enum: ['celsius', 'fahrenheit', '°'] },
    { type: ['number', 'null'] },
    { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'integer' }] } },
    { type: 'object', properties: { on: { type: 'boolean' } }, required: ['on'], additionalProperties: false },
    { type: 'object', properties: { 'naïve key': {} }, required: ['naïve key'], additionalProperties: false },
  );
}

type OtherMembers = Omit<ChatRequestBody, 'model' | 'messages' | keyof ToolMembers>;

function otherMembers(): fc.Arbitrary<OtherMembers> {
  const tokens = fc.integer({ min: 1, max: 200_000 });
  return fc.record(
    {
      response_format: responseFormat(),
      reasoning_effort: fc.constantFrom(...reasoningEfforts),
      max_completion_tokens: tokens,
      max_tokens: tokens,
      stop: fc.oneof(arbitraryText(), fc.array(arbitraryText(), { maxLength: 4 })),
      prompt_cache_key: fc.string({ maxLength: 100 }),
      temperature: fc.double({ min: 0, max: 2, noNaN: true }),
      top_p: fc.double({ min: 0, max: 1, noNaN: true }),
      n: fc.constant(1),
    },
    { requiredKeys: [] },
  );
}

function responseFormat(): fc.Arbitrary<ClientResponseFormat> {
  const definition = fc.record(
    {
      name: fc.stringMatching(/^[\w-]{1,64}$/),
      description: arbitraryText(),
      schema: objectSchema(arbitraryPropertyName()),
      strict: fc.boolean(),
    },
    { requiredKeys: ['name'] },
  );
  return fc.oneof(
    fc.record({ type: fc.constantFrom('text', 'json_object') }),
    fc.record({ type: fc.constant('json_schema'), json_schema: definition }),
  );
}
