import { asArray, type JsonObject, objectsIn } from '@gateway/json';
import { z } from 'zod';
import { verifyEncrypted } from '../answer/encrypted-reasoning.ts';
import { type IssueText, parseRequest, type RequestIssue, unchecked } from '../answer/parse-request.ts';
import { unreadableContent } from '../answer/refused-reasoning.ts';
import { ProviderRefusal, type ProviderRequest } from '../provider-request.ts';
import { requiredReasoningId } from './output-items.ts';

/**
 * The backend to simulate: the public API, or a subscription's, which accepts fewer parameters and
 * only streams.
 */
export type ResponsesBackend = 'api' | 'subscription';

/**
 * Checks a request as the provider does.
 *
 * @throws {ProviderRefusal}
 * @see https://platform.openai.com/docs/api-reference/responses/create
 */
export function checkRequest({ account, body, models }: ProviderRequest, backend: ResponsesBackend): ResponsesRequest {
  if (backend === 'subscription') checkSubscription(body);
  if (objectsIn(body.input).some(({ role }) => role === 'system')) {
    throw refusedDetail('System messages are not allowed');
  }
  const parsed = parseRequest(requestSchema, body, textOfIssue);
  if ('issue' in parsed) throw refusalOf(parsed.issue);
  const { request } = parsed;
  if (!models.includes(request.model)) throw modelNotFound(request.model);
  for (const problems of [stateProblems, parameterProblems, toolProblems, callProblems]) {
    const [problem] = problems(request);
    if (problem !== undefined) throw problem;
  }
  checkReasoning(objectsIn(request.input), account);
  return request;
}

export type ResponsesRequest = z.infer<typeof requestSchema>;

const refusedBySubscription = ['max_output_tokens', 'temperature', 'top_p', 'metadata', 'user', 'truncation'];

function checkSubscription(body: JsonObject): void {
  const refused = refusedBySubscription.find((name) => body[name] !== undefined);
  if (refused !== undefined) throw refusedDetail(`Unsupported parameter: ${refused}`);
  if (body.store !== false) throw refusedDetail('Store must be set to false');
  if (body.stream !== true) throw refusedDetail('Stream must be set to true');
  if (!Array.isArray(body.input)) throw refusedDetail('Input must be a list');
}

const name = z
  .string()
  .max(64)
  .regex(/^[a-zA-Z0-9_-]+$/);
const callId = z.string().max(64);

const inputText = z.looseObject({ type: z.literal('input_text'), text: z.string() });
const inputImage = z
  .looseObject({
    type: z.literal('input_image'),
    image_url: z
      .string()
      .regex(/^(https?:|data:image\/)/i)
      .nullish(),
    file_id: z.string().nullish(),
  })
  .refine((image) => image.image_url !== undefined || image.file_id !== undefined, 'An image needs an image_url.');
const inputFile = z.looseObject({ type: z.literal('input_file') });
const inputAudio = z.looseObject({ type: z.literal('input_audio') });
const outputText = z.looseObject({ type: z.literal('output_text'), text: z.string() });
const refusal = z.looseObject({ type: z.literal('refusal'), refusal: z.string() });

const userParts = z.discriminatedUnion('type', [inputText, inputImage, inputFile, inputAudio]);
const developerParts = z.discriminatedUnion('type', [inputText, inputImage, inputFile]);
const assistantParts = z.discriminatedUnion('type', [outputText, refusal]);

function messageOf(role: string, part: z.ZodType) {
  return z.looseObject({
    type: z.literal('message').optional(),
    role: z.literal(role),
    content: z.union([z.string(), z.array(part)]),
  });
}

const item = z.discriminatedUnion('type', [
  z.discriminatedUnion('role', [
    messageOf('user', userParts),
    messageOf('developer', developerParts),
    messageOf('assistant', assistantParts),
  ]),
  z.looseObject({ type: z.literal('function_call'), call_id: callId, name: z.string(), arguments: z.string() }),
  z.looseObject({
    type: z.literal('function_call_output'),
    call_id: callId,
    output: z.union([z.string(), z.array(z.unknown())]),
  }),
  z.looseObject({
    type: z.literal([
      ...(['reasoning', 'item_reference', 'additional_tools', 'custom_tool_call', 'custom_tool_call_output'] as const),
      ...(['tool_search_call', 'tool_search_output', 'configuration_update', 'file_search_call'] as const),
      ...(['web_search_call', 'computer_call', 'computer_call_output', 'code_interpreter_call'] as const),
      ...(['image_generation_call', 'local_shell_call', 'local_shell_call_output', 'shell_call'] as const),
      ...(['shell_call_output', 'apply_patch_call', 'apply_patch_call_output', 'mcp_list_tools'] as const),
      ...(['mcp_approval_request', 'mcp_call', 'mcp_approval_response', 'compaction'] as const),
      ...(['compaction_trigger', 'program', 'program_output'] as const),
    ]),
  }),
]);

const format = z.looseObject({ type: z.string(), name: name.optional(), schema: z.looseObject({}).optional() });

const requestSchema = z.strictObject({
  model: z.string(),
  input: z.union([z.string(), z.array(item)]),
  instructions: z.string().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  previous_response_id: z.string().nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  stream: z.boolean().nullish(),
  temperature: z.number().nullish(),
  text: z.looseObject({ format: format.nullish() }).nullish(),
  tool_choice: z
    .union([
      z.enum(['none', 'auto', 'required']),
      z.looseObject({ type: z.string(), name: z.string().optional(), mode: z.string().optional() }),
    ])
    .nullish(),
  tools: z.array(z.looseObject({ type: z.string() })).nullish(),
  top_p: z.number().nullish(),
  ...unchecked('access_programs', 'background', 'context_management', 'conversation', 'image', 'include'),
  ...unchecked('max_tool_calls', 'metadata', 'moderation', 'prompt', 'prompt_cache_options', 'prompt_cache_retention'),
  ...unchecked('safety_identifier', 'service_tier', 'store', 'stream_options', 'top_logprobs', 'truncation', 'user'),
});

const functionTool = z.looseObject({ name, strict: z.boolean().nullish(), parameters: z.looseObject({}).nullish() });

const textOfIssue: IssueText = (issue) => {
  switch (issue.code) {
    case 'invalid_value':
      return `Invalid value: '${String(issue.input)}'. Supported values are: ${quoted(issue.values)}.`;
    case 'invalid_union': {
      const value = issue.discriminator === undefined ? undefined : Object(issue.input)[issue.discriminator];
      return `Invalid value: '${String(value)}'. Supported values are: ${quoted(asArray(issue.options))}.`;
    }
    case 'too_big':
      return `Invalid value: string too long. Expected a string with maximum length ${issue.maximum}.`;
    case 'invalid_format':
      return `Invalid value: expected a string that matches the pattern '${issue.pattern}'.`;
    default:
      return undefined;
  }
};

function quoted(values: readonly unknown[]): string {
  return values.map((value) => `'${String(value)}'`).join(', ');
}

function refusalOf(issue: RequestIssue, path: readonly PropertyKey[] = issue.path): ProviderRefusal {
  const param = path.map((key, index) =>
    typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`,
  );
  if (issue.input === undefined) return missingParameter(param.join(''));
  if (issue.code === 'unrecognized_keys') {
    const unknown = issue.keys[0] ?? '';
    return invalidParameter(unknown, `Unknown parameter: '${unknown}'.`, 'unknown_parameter');
  }
  const code = { too_big: 'string_above_max_length', invalid_type: 'invalid_type' }[String(issue.code)];
  return invalidParameter(param.join(''), `Invalid '${param.join('')}': ${issue.message}`, code);
}

function modelNotFound(model: string): ProviderRefusal {
  const message = `The model \`${model}\` does not exist or you do not have access to it.`;
  return new ProviderRefusal({ status: 404, message, code: 'model_not_found', param: 'model' });
}

/** Nothing is stored, so references to stored items are refused. */
function* stateProblems({ previous_response_id: previous, input }: ResponsesRequest): Generator<ProviderRefusal> {
  if (typeof previous === 'string') {
    const message = `Previous response with id '${previous}' not found.`;
    yield invalidParameter('previous_response_id', message, 'previous_response_not_found');
  }
  const reference = objectsIn(input).find(({ type }) => type === 'item_reference');
  if (reference === undefined) return;
  const message = `Item with id '${reference.id}' not found. Items are not persisted when \`store\` is set to false. Try again with \`store\` set to true, or remove this item from your input.`;
  yield new ProviderRefusal({ status: 404, message, param: 'input' });
}

function* parameterProblems(request: ResponsesRequest): Generator<ProviderRefusal> {
  const sampling = (['temperature', 'top_p'] as const).find((member) => typeof request[member] === 'number');
  if (sampling !== undefined) {
    const message = `Unsupported parameter: '${sampling}' is not supported with this model.`;
    yield invalidParameter(sampling, message, 'unsupported_parameter');
  }
  const effort = request.reasoning?.effort ?? undefined;
  const supported = effortsOf(request.model);
  if (effort !== undefined && !supported.includes(effort)) {
    const problem = allEfforts.includes(effort)
      ? `'${effort}' is not supported with this model`
      : `Invalid value: '${effort}'`;
    const message = `${problem}. Supported values are: ${quoted(supported)}.`;
    yield invalidParameter('reasoning.effort', message, 'unsupported_value');
  }
  const wanted = request.text?.format;
  if (wanted?.type === 'json_schema' && wanted.name === undefined) yield missingParameter('text.format.name');
  if (wanted?.type === 'json_schema' && wanted.schema === undefined) yield missingParameter('text.format.schema');
  // The provider searches for the word in the input only, not in the instructions.
  if (wanted?.type === 'json_object' && !/json/i.test(JSON.stringify(request.input))) {
    const message =
      "Response input messages must contain the word 'json' in some form to use 'text.format' of type 'json_object'.";
    yield invalidParameter('input', message);
  }
}

function* toolProblems({ tools, tool_choice: choice }: ResponsesRequest): Generator<ProviderRefusal> {
  for (const [index, tool] of asArray(tools).entries()) {
    if (Object(tool).type !== 'function') continue;
    const parsed = parseRequest(functionTool, tool, textOfIssue);
    if ('issue' in parsed) yield refusalOf(parsed.issue, ['tools', index, ...parsed.issue.path]);
    else if (parsed.request.strict === true && parsed.request.parameters?.additionalProperties !== false) {
      const message = `Invalid schema for function '${parsed.request.name}': In context=(), 'additionalProperties' is required to be supplied and to be false.`;
      yield invalidParameter(`tools[${index}].parameters`, message, 'invalid_function_parameters');
    }
  }
  const declared = objectsIn(tools);
  if (choice === 'required' && declared.length === 0) {
    yield invalidParameter('tool_choice', "Tool choice 'required' must be specified with 'tools' parameter.");
  }
  if (typeof choice !== 'object' || choice?.type !== 'function') return;
  if (choice.name === undefined) yield missingParameter('tool_choice.name');
  if (declared.some((tool) => tool.name === choice.name)) return;
  yield invalidParameter('tool_choice', `Tool choice '${choice.name}' not found in 'tools' parameter.`);
}

/** Every call needs its output, and every output its call. */
function* callProblems({ input }: ResponsesRequest): Generator<ProviderRefusal> {
  const idsOf = (wanted: string) =>
    new Set(objectsIn(input).flatMap((each) => (each.type === wanted ? [String(each.call_id)] : [])));
  const [calls, outputs] = [idsOf('function_call'), idsOf('function_call_output')];
  for (const id of calls.difference(outputs)) {
    yield invalidParameter('input', `No tool output found for function call ${id}.`);
  }
  for (const id of outputs.difference(calls)) {
    yield invalidParameter('input', `No tool call found for function call output with call_id ${id}.`);
  }
}

const allEfforts: readonly string[] = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'];

/**
 * The reasoning efforts that a model accepts, by its generation; an id of another form accepts all
 * of them.
 */
function effortsOf(model: string): readonly string[] {
  const [, major, minor = 0] = /^gpt-(\d+)(?:\.(\d+))?/.exec(model) ?? [];
  if (major === undefined) return allEfforts;
  const version = Number(major) * 100 + Number(minor);
  if (version >= 506) return ['low', 'medium', 'high', 'xhigh', 'max'];
  if (version >= 502) return ['none', 'low', 'medium', 'high', 'xhigh'];
  return version === 501 ? ['none', 'low', 'medium', 'high'] : ['minimal', 'low', 'medium', 'high'];
}

/**
 * Checks reasoning that is sent back: the account must be able to read it, and no item may lack the
 * reasoning that preceded it.
 * @see https://platform.openai.com/docs/guides/reasoning#encrypted-reasoning-items
 */
function checkReasoning(items: readonly JsonObject[], account: string): void {
  for (const { type, encrypted_content: encrypted } of items) {
    if ((type !== 'reasoning' && type !== 'compaction') || typeof encrypted !== 'string') continue;
    const verdict = verifyEncrypted(encrypted, { account });
    if (verdict !== 'accepted') throw new ProviderRefusal(unreadableContent(verdict));
  }
  for (const { id, type = 'message' } of items) {
    if (typeof id !== 'string' || (type !== 'message' && type !== 'function_call')) continue;
    const required = requiredReasoningId(id);
    if (required === undefined || items.some((other) => isReasoning(other, required, account))) continue;
    const message = `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${required}'.`;
    throw new ProviderRefusal({ status: 400, message, param: 'input' });
  }
}

/** Clients may omit the id of a reasoning item; then its encrypted content identifies it. */
function isReasoning({ type, id, encrypted_content: encrypted }: JsonObject, wanted: string, account: string): boolean {
  if (type !== 'reasoning') return false;
  if (typeof id === 'string') return id === wanted;
  return typeof encrypted === 'string' && verifyEncrypted(encrypted, { account, content: wanted }) === 'accepted';
}

/** A 400 that names the parameter. */
function invalidParameter(param: string, message: string, code = 'invalid_value'): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message, param, code });
}

function missingParameter(param: string): ProviderRefusal {
  return invalidParameter(param, `Missing required parameter: '${param}'.`, 'missing_required_parameter');
}

/** The short body with which a subscription backend refuses what it does not support. */
function refusedDetail(detail: string): ProviderRefusal {
  return new ProviderRefusal({ status: 400, message: detail }, { detail });
}
