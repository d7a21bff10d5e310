import { calling, question, result, toolCall } from './client-messages.ts';
import { assistantItem, callItem, developerItem, outputItem, userItem } from './input-items.ts';
import type { InputItem, ProviderMembers, ResponsesRequestCase } from './provider-members.ts';

type SentFormat = NonNullable<NonNullable<ProviderMembers['text']>['format']>;

const schema = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };
const richSchema = {
  type: 'object',
  $defs: { node: { type: 'object', properties: { next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] } } } },
  properties: { first: { $ref: '#/$defs/node' }, kind: { enum: ['a', 1, null, '🗼'] } },
  required: ['first', 'kind'],
  additionalProperties: false,
};

const hint = developerItem('Answer with one JSON object and nothing else.');

/** A JSON object wanted of these messages, and the input that they become: somewhere in it stands the word. */
const jsonObject = (
  name: string,
  messages: readonly object[],
  input: InputItem[],
  instructions: Pick<ProviderMembers, 'instructions'> = {},
): ResponsesRequestCase => ({
  name,
  request: { messages, response_format: { type: 'json_object' } },
  becomes: { ...instructions, input, text: { format: { type: 'json_object' } } },
});

/** A JSON schema of this definition, and the format that the provider gets. */
const jsonSchema = (name: string, definition: object, sent: Omit<SentFormat & { type: 'json_schema' }, 'type'>) => ({
  name,
  request: { messages: [question], response_format: { type: 'json_schema', json_schema: definition } },
  becomes: { input: [userItem('Hi')], text: { format: { type: 'json_schema', ...sent } as const } },
});

const plain = (name: string, response_format: unknown): ResponsesRequestCase => ({
  name,
  request: { messages: [question], response_format },
  becomes: { input: [userItem('Hi')] },
});

const refused = (name: string, response_format: unknown, field: string): ResponsesRequestCase => ({
  name,
  request: { messages: [question], response_format },
  becomes: { refused: 'invalid_request', field },
});

const longestName = `a-Z_0${'9'.repeat(59)}`;

export const responseFormatCases: readonly ResponsesRequestCase[] = [
  plain('text wanted', { type: 'text' }),
  plain('a response format that is null', null),
  jsonObject('a JSON object wanted without the word JSON', [question], [hint, userItem('Hi')]),
  jsonObject('a JSON object wanted by the user', [{ role: 'user', content: 'As JSON.' }], [userItem('As JSON.')]),
  jsonObject(
    'a JSON object wanted in small letters, within a word',
    [{ role: 'user', content: [{ type: 'text', text: 'Write a .jsonl line.' }] }],
    [userItem('Write a .jsonl line.')],
  ),
  jsonObject(
    'a JSON object wanted by a later system message',
    [question, { role: 'system', content: 'Answer in Json.' }],
    [userItem('Hi'), developerItem('Answer in Json.')],
  ),
  jsonObject(
    'a JSON object wanted by the first system message alone',
    [{ role: 'system', content: 'Answer in JSON.' }, question],
    [hint, userItem('Hi')],
    { instructions: 'Answer in JSON.' },
  ),
  jsonObject(
    'a JSON object wanted and only a system message that says so',
    [{ role: 'system', content: 'Answer in JSON.' }],
    [developerItem('Answer in JSON.')],
  ),
  jsonObject(
    'a JSON object wanted and JSON in the assistant’s words only',
    [question, { role: 'assistant', content: 'In JSON?' }, { role: 'user', content: 'Yes.' }],
    [hint, userItem('Hi'), assistantItem('In JSON?'), userItem('Yes.')],
  ),
  jsonObject(
    'a JSON object wanted and JSON in a tool result only',
    [question, calling(toolCall('call_1', 'f', '{}')), result('call_1', 'json')],
    [hint, userItem('Hi'), callItem('call_1', 'f', '{}'), outputItem('call_1', 'json')],
  ),
  {
    name: 'a JSON object wanted and a schema beside it',
    request: {
      messages: [{ role: 'user', content: 'JSON!' }],
      response_format: { type: 'json_object', json_schema: { name: 'x', schema } },
    },
    becomes: { input: [userItem('JSON!')], text: { format: { type: 'json_object' } } },
  },
  jsonSchema('a JSON schema', { name: 'reply', schema }, { name: 'reply', schema }),
  jsonSchema(
    'a JSON schema with all its members',
    { name: 'reply', description: 'A reply.', schema, strict: true },
    { name: 'reply', description: 'A reply.', schema, strict: true },
  ),
  jsonSchema(
    'a JSON schema that is not strict',
    { name: 'reply', schema, strict: false },
    { name: 'reply', schema, strict: false },
  ),
  jsonSchema(
    'members of a JSON schema that are null',
    { name: 'reply', description: null, schema, strict: null },
    { name: 'reply', schema },
  ),
  jsonSchema('a JSON schema without a schema', { name: 'reply' }, { name: 'reply', schema: { type: 'object' } }),
  jsonSchema('an empty JSON schema', { name: 'reply', schema: {} }, { name: 'reply', schema: {} }),
  jsonSchema(
    'an empty description of a JSON schema',
    { name: 'reply', description: '', schema },
    { name: 'reply', description: '', schema },
  ),
  jsonSchema(
    'a rich JSON schema',
    { name: 'rich-1', schema: richSchema, strict: true },
    { name: 'rich-1', schema: richSchema, strict: true },
  ),
  jsonSchema('the longest name of a JSON schema', { name: longestName, schema }, { name: longestName, schema }),
  jsonSchema(
    'members of a JSON schema that is not known',
    { name: 'reply', schema, type: 'object', title: 'Reply' },
    { name: 'reply', schema },
  ),
  refused('a response format that is not known', { type: 'grammar' }, 'response_format.type'),
  refused('a response format without a type', { json_schema: { name: 'reply', schema } }, 'response_format.type'),
  refused('a response format that is a text', 'json_object', 'response_format'),
  refused('a JSON schema left out', { type: 'json_schema' }, 'response_format.json_schema'),
  refused(
    'a JSON schema as Responses writes it',
    { type: 'json_schema', name: 'reply', schema },
    'response_format.json_schema',
  ),
  refused(
    'a JSON schema without a name',
    { type: 'json_schema', json_schema: { schema } },
    'response_format.json_schema.name',
  ),
  refused(
    'a name of a JSON schema with brackets',
    { type: 'json_schema', json_schema: { name: 'Reply[int]', schema } },
    'response_format.json_schema.name',
  ),
  refused(
    'a name of a JSON schema that is too long',
    { type: 'json_schema', json_schema: { name: `${longestName}x`, schema } },
    'response_format.json_schema.name',
  ),
  refused(
    'a JSON schema that is a list',
    { type: 'json_schema', json_schema: { name: 'reply', schema: [] } },
    'response_format.json_schema.schema',
  ),
  refused(
    'a JSON schema whose strict is a text',
    { type: 'json_schema', json_schema: { name: 'reply', schema, strict: 'yes' } },
    'response_format.json_schema.strict',
  ),
];
