import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';
import { z } from 'zod';
import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { type IssueText, parseRequest, unchecked } from '../answer/parse-request.ts';
import { invalidSignature } from '../answer/refused-reasoning.ts';
import { ProviderRefusal, type ProviderRequest } from '../provider-request.ts';
import { type ModelTraits, traitsOf } from './model-traits.ts';

/**
 * Checks a request as the provider does. Features that the provider may know and the simulator does
 * not are accepted: types of blocks and, with a beta header, members.
 *
 * @throws {ProviderRefusal}
 * @see https://docs.claude.com/en/api/messages
 */
export function checkRequest(
  { account, body, headers, models }: ProviderRequest,
  purpose: 'generate' | 'count_tokens',
): MessagesRequest {
  if (headers['anthropic-version'] === undefined) throw invalidRequest('anthropic-version: header is required');
  const schema = headers['anthropic-beta'] === undefined ? strictSchemas[purpose] : requestSchema;
  const parsed = parseRequest(schema, body, textOfIssue);
  if ('issue' in parsed) throw invalidRequest(`${pathOf(parsed.issue)}: ${parsed.issue.message}`);
  const { request } = parsed;
  if (!models.includes(request.model)) throw new ProviderRefusal({ status: 404, message: `model: ${request.model}` });
  if (purpose === 'generate' && request.max_tokens === undefined) throw invalidRequest('max_tokens: Field required');
  const traits = traitsOf(request.model);
  for (const problems of [conversationProblems, toolProblems, thinkingProblems, otherProblems]) {
    const [problem] = problems(request, traits);
    if (problem !== undefined) throw invalidRequest(problem);
  }
  checkEarlierThinking(request, account);
  return request;
}

export type MessagesRequest = z.infer<typeof requestSchema>;

const textOfIssue: IssueText = (issue) => {
  if (issue.input === undefined) return 'Field required';
  switch (issue.code) {
    case 'unrecognized_keys':
      return 'Extra inputs are not permitted';
    case 'invalid_type':
      return `Input should be a valid ${typeNames[issue.expected] ?? issue.expected}`;
    case 'invalid_value':
      return `Input should be ${issue.values.map((value) => `'${String(value)}'`).join(', ')}`;
    case 'too_small':
      return `Input should be greater than or equal to ${issue.minimum}`;
    case 'invalid_format':
      return `String should match pattern '${issue.pattern}'`;
    default:
      return undefined;
  }
};

const typeNames: Readonly<Record<string, string>> = {
  object: 'dictionary',
  record: 'dictionary',
  array: 'list',
  int: 'integer',
};

function pathOf(issue: z.core.$ZodIssue): string {
  const path = issue.code === 'unrecognized_keys' ? [...issue.path, issue.keys[0] ?? ''] : issue.path;
  return path.join('.');
}

/** Checks an object by its type; types that the table does not contain are accepted. */
function byType(schemas: Readonly<Record<string, z.ZodType>>, usualType?: string) {
  return z.record(z.string(), z.unknown()).superRefine(({ ...value }, context) => {
    const { type = usualType } = value;
    if (typeof type !== 'string')
      return context.addIssue({ code: 'custom', path: ['type'], message: 'Field required' });
    const parsed = parseRequest(schemas[type] ?? z.unknown(), value, textOfIssue);
    if (!('issue' in parsed)) return;
    context.addIssue({ code: 'custom', path: [type, ...parsed.issue.path], message: parsed.issue.message });
  });
}

const id = z.string().regex(/^[a-zA-Z0-9_-]+$/);
const emptyText = 'text content blocks must be non-empty';
const texts = z.union([z.string(), z.array(z.looseObject({ text: z.string().min(1, emptyText).optional() }))]);
const unknownTag = (tag: string) =>
  z.never(`Input tag '${tag}' found using 'type' does not match any of the expected tags`);

const blocks = {
  text: z.looseObject({
    text: z.string().min(1, emptyText).regex(/\S/, 'text content blocks must contain non-whitespace text'),
  }),
  image: z.looseObject({ source: z.looseObject({ type: z.string() }).superRefine(checkImage) }),
  input_text: unknownTag('input_text'),
  output_text: unknownTag('output_text'),
  image_url: unknownTag('image_url'),
};

const blocksOfUser = {
  ...blocks,
  tool_use: z.never('`tool_use` blocks can only be in `assistant` messages'),
  tool_result: z.looseObject({ tool_use_id: id, content: texts.nullish() }),
};

const blocksOfAssistant = {
  ...blocks,
  tool_use: z.looseObject({ id, name: z.string().min(1), input: z.looseObject({}) }),
  tool_result: z.never('`tool_result` blocks can only be in `user` messages'),
};

function messageOf(role: 'user' | 'assistant' | 'system', types: Readonly<Record<string, z.ZodType>>) {
  const text = z.string().min(1, 'user messages must have non-empty content');
  const list = z.array(byType(types)).min(1, 'all messages must have non-empty content');
  return z.looseObject({ role: z.literal(role), content: z.union([text, list]) });
}

const combination = z.never('input_schema does not support oneOf, allOf, or anyOf at the top level').optional();

const customTool = z.looseObject({
  name: z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/),
  input_schema: z.looseObject({
    oneOf: combination,
    anyOf: combination,
    allOf: combination,
    type: z.literal('object'),
  }),
});

const members = {
  model: z.string(),
  messages: z
    .array(
      z.discriminatedUnion(
        'role',
        [
          messageOf('user', blocksOfUser),
          messageOf('assistant', blocksOfAssistant),
          messageOf('system', { ...blocksOfUser, tool_result: blocksOfAssistant.tool_result }),
        ],
        "Input should be 'user' or 'assistant'",
      ),
    )
    .min(1, 'at least one message is required'),
  max_tokens: z.int().min(1).optional(),
  stop_sequences: z.array(z.string().regex(/\S/, 'each stop sequence must contain non-whitespace')).nullish(),
  stream: z.boolean().nullish(),
  system: texts.optional(),
  tools: z.array(byType({ custom: customTool }, 'custom')).nullish(),
  tool_choice: z
    .looseObject({
      type: z.string(),
      name: z.string().optional(),
      disable_parallel_tool_use: z.boolean().optional(),
    })
    .nullish(),
  thinking: z
    .looseObject({ type: z.string(), budget_tokens: z.number().min(1024).optional(), display: z.string().nullish() })
    .nullish(),
  output_config: z
    .looseObject({
      effort: z.string().nullish(),
      format: z.looseObject({ type: z.literal('json_schema'), schema: z.record(z.string(), z.unknown()) }).nullish(),
    })
    .nullish(),
};

const requestSchema = z.looseObject(members);

const uncheckedOfBoth = unchecked('cache_control', 'diagnostics', 'speed', 'user_profile_id', 'workspace_id');
const notCounted = z.never('Extra inputs are not permitted').optional();

/** A count takes no members that concern only the answer. */
const strictSchemas = {
  generate: z.strictObject({
    ...members,
    ...uncheckedOfBoth,
    ...unchecked('container', 'inference_geo', 'metadata', 'service_tier', 'temperature', 'top_k', 'top_p'),
  }),
  count_tokens: z.strictObject({
    ...members,
    ...uncheckedOfBoth,
    max_tokens: notCounted,
    stop_sequences: notCounted,
    stream: notCounted,
  }),
};

/** The first characters of each image format in base64. */
const imageStarts: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
};

function checkImage({ type, media_type: mediaType, data }: JsonObject, context: z.RefinementCtx): void {
  if (type !== 'base64') return;
  const actual = Object.keys(imageStarts).find((kind) => String(data).startsWith(imageStarts[kind] ?? kind));
  if (!Object.keys(imageStarts).includes(String(mediaType))) {
    context.addIssue(`media_type: Input should be one of ${Object.keys(imageStarts).join(', ')}`);
  } else if (actual === undefined) {
    context.addIssue('data: Could not process image');
  } else if (actual !== mediaType) {
    context.addIssue(`data: specified using the ${mediaType} media type, but appears to be a ${actual} image`);
  }
}

function* conversationProblems({ messages, thread }: MessagesRequest, traits: ModelTraits): Generator<string> {
  if (!traits.systemMessages && messages.some(({ role }) => role === 'system')) {
    yield "role 'system' is not supported on this model";
  }
  // A continued thread starts with the answer to a message that only the provider has.
  if (isObject(thread) && thread.type === 'continue') return;
  if (messages[0]?.role === 'assistant') yield 'messages: first message must use the "user" role';
  yield* toolUseProblems(messages);
  const last = messages.at(-1);
  if (last?.role !== 'assistant') return;
  if (!traits.prefill) {
    yield 'This model does not support assistant message prefill. The conversation must end with a user message.';
  }
  const text = objectsIn(last.content).at(-1)?.text ?? last.content;
  if (typeof text === 'string' && /\s$/.test(text)) {
    yield 'messages: final assistant content cannot end with trailing whitespace';
  }
}

/** Every tool use must be answered at the start of the next message. */
function* toolUseProblems(messages: MessagesRequest['messages']): Generator<string> {
  let pending: ReadonlySet<unknown> = new Set();
  for (const [index, { content }] of [...messages, { content: [] }].entries()) {
    const ofMessage = objectsIn(content);
    const results = ofMessage.filter(({ type }) => type === 'tool_result');
    const unexpected = results.find(({ tool_use_id: used }) => !pending.has(used));
    if (unexpected !== undefined) {
      yield `messages.${index}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${unexpected.tool_use_id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`;
    }
    if (ofMessage.slice(0, results.length).some(({ type }) => type !== 'tool_result')) {
      yield `messages.${index}: \`tool_result\` blocks must come before all other content of the message.`;
    }
    const answered = new Set(results.map(({ tool_use_id: used }) => used));
    const missing = [...pending].filter((used) => !answered.has(used));
    if (missing.length > 0) {
      yield `messages.${index - 1}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`;
    }
    pending = new Set(ofMessage.filter(({ type }) => type === 'tool_use').map((use) => use.id));
  }
}

function* toolProblems({ tools, tool_choice: choice }: MessagesRequest, traits: ModelTraits): Generator<string> {
  const names = asArray(tools).map((tool) => isObject(tool) && tool.name);
  if (new Set(names).size < names.length) yield 'tools: Tool names must be unique.';
  if (choice === undefined || choice === null) return;
  if (names.length === 0) yield 'tool_choice may only be specified while providing tools';
  if (isForced(choice) && !traits.forcedTools) {
    yield 'tool_choice: type "tool" and "any" are not supported for this model.';
  }
  if (choice.type === 'none' && choice.disable_parallel_tool_use !== undefined) {
    yield 'tool_choice.none.disable_parallel_tool_use: Extra inputs are not permitted';
  }
  if (choice.type === 'tool' && !names.includes(choice.name)) {
    yield `Tool '${choice.name}' not found in provided tools`;
  }
}

function isForced(choice: MessagesRequest['tool_choice']): boolean {
  return choice?.type === 'any' || choice?.type === 'tool';
}

function* thinkingProblems(request: MessagesRequest, traits: ModelTraits): Generator<string> {
  const { type, budget_tokens: budget } = request.thinking ?? {};
  if (type === 'adaptive' && !traits.adaptiveThinking) yield 'adaptive thinking is not supported on this model';
  if (type === 'disabled' && !traits.thinkingCanBeDisabled) {
    yield 'thinking.type: "disabled" is not supported for this model.';
  }
  if (type !== 'enabled') return;
  if (!traits.budgetThinking) yield 'thinking.type: "enabled" is not supported for this model.';
  if (budget === undefined) yield 'thinking.enabled.budget_tokens: Field required';
  if (Number(request.max_tokens) <= Number(budget)) {
    yield '`max_tokens` must be greater than `thinking.budget_tokens`.';
  }
  if (isForced(request.tool_choice)) yield 'Thinking may not be enabled when tool_choice forces tool use.';
}

const maximumBreakpoints = 4;

function* otherProblems(request: MessagesRequest, traits: ModelTraits): Generator<string> {
  const { model, max_tokens: maximum, output_config: config } = request;
  if (Number(maximum) > traits.maximumTokens) {
    yield `max_tokens: ${maximum} > ${traits.maximumTokens}, which is the maximum allowed number of output tokens for ${model}`;
  }
  const sampling = ['temperature', 'top_p', 'top_k'].find((name) => request[name] !== undefined);
  if (sampling !== undefined && !traits.sampling) yield `\`${sampling}\` is not supported for this model.`;
  const effort = config?.effort ?? undefined;
  if (effort !== undefined && traits.efforts.length === 0) yield 'This model does not support the effort parameter.';
  if (effort !== undefined && !traits.efforts.includes(effort)) {
    yield `output_config.effort: Input should be ${traits.efforts.map((value) => `'${value}'`).join(', ')}`;
  }
  if (config?.format) yield* outputSchemaProblems(config.format.schema);
  const lists = [request.tools, request.system, ...request.messages.map(({ content }) => content)];
  const found = lists.flatMap(objectsIn).filter((block) => isObject(block.cache_control)).length;
  if (found > maximumBreakpoints) {
    yield `A maximum of ${maximumBreakpoints} blocks with cache_control may be provided. Found ${found}.`;
  }
}

const refusedKeywords = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf', 'minLength', 'maxLength'],
  ...['maxItems', 'uniqueItems', 'not', 'oneOf', 'patternProperties', 'contains', 'minContains', 'maxContains'],
  ...['minProperties', 'maxProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas', 'prefixItems'],
  ...['if', 'then', 'else', 'unevaluatedItems', 'unevaluatedProperties', '$dynamicRef'],
];

/**
 * Structured outputs accept a subset of JSON schema.
 * @see https://docs.claude.com/en/docs/build-with-claude/structured-outputs
 */
function* outputSchemaProblems(schema: JsonObject): Generator<string> {
  const refused = refusedKeywords.find((keyword) => keyword in schema);
  if (refused !== undefined) {
    yield `output_config.format.schema: For '${schema.type}' type, property '${refused}' is not supported`;
  }
  if ([schema.type].flat().includes('object') && schema.additionalProperties !== false) {
    yield "output_config.format.schema: For 'object' type, 'additionalProperties' must be explicitly set to false";
  }
  const named = [schema.properties, schema.$defs, schema.definitions].filter(isObject).flatMap(Object.values);
  const children = [schema.items, ...named, schema.anyOf, schema.allOf].flat().filter(isObject);
  for (const child of children) yield* outputSchemaProblems(child);
}

/**
 * Thinking must be sent back unchanged. The account does not matter: signatures are valid wherever
 * the models run.
 * @see https://docs.claude.com/en/docs/build-with-claude/extended-thinking
 */
function checkEarlierThinking({ messages }: MessagesRequest, account: string): void {
  for (const [index, { content }] of messages.entries()) {
    for (const [position, { type, thinking, signature }] of objectsIn(content).entries()) {
      if (type !== 'thinking' || typeof signature !== 'string') continue;
      const verdict = verifyEncrypted(signature, { account, content: String(thinking) });
      if (verdict === 'altered' || verdict === 'damaged')
        throw new ProviderRefusal(invalidSignature(`messages.${index}.content.${position}`));
    }
  }
}

function invalidRequest(message: string): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message });
}
