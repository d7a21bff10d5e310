import { asArray, isObject, type JsonObject, objectsIn } from '@gateway/json';
import { invalidRequest } from './errors.ts';
import { type ModelTraits, traitsOf } from './request.ts';

/**
 * Checks the messages: roles, blocks, and that every tool use is answered in the message right after it.
 *
 * @throws {ProviderRefusal}
 */
export function checkMessages({ model, messages, thread }: JsonObject): void {
  if (messages === undefined) throw invalidRequest('messages: Field required');
  if (!Array.isArray(messages)) throw invalidRequest('messages: Input should be a valid list');
  if (messages.length === 0) throw invalidRequest('messages: at least one message is required');
  const traits = traitsOf(String(model));
  for (const [index, message] of messages.entries()) checkMessage(message, `messages.${index}`, traits);
  // A continued thread starts with the answer to a message that only the provider has.
  if (isObject(thread) && thread.type === 'continue') return;
  checkFirst(messages[0]);
  checkToolUse(objectsIn(messages));
  checkLast(objectsIn(messages).at(-1), traits);
}

function checkMessage(message: unknown, path: string, { systemMessages }: ModelTraits): void {
  if (!isObject(message)) throw invalidRequest(`${path}: Input should be a valid dictionary`);
  const { role, content } = message;
  if (role === 'system' && !systemMessages) throw invalidRequest("role 'system' is not supported on this model");
  if (role !== 'user' && role !== 'assistant' && role !== 'system') {
    throw invalidRequest(`${path}.role: Input should be 'user' or 'assistant'`);
  }
  if (content === undefined) throw invalidRequest(`${path}.content: Field required`);
  if (content === '') throw invalidRequest(`${path}: user messages must have non-empty content`);
  if (Array.isArray(content) && content.length === 0) {
    throw invalidRequest(`${path}: all messages must have non-empty content`);
  }
  for (const [index, block] of asArray(content).entries()) checkBlock(block, `${path}.content.${index}`, role);
}

function checkFirst(message: unknown): void {
  if (isObject(message) && message.role !== 'assistant') return;
  throw invalidRequest('messages: first message must use the "user" role');
}

function checkToolUse(messages: readonly JsonObject[]): void {
  let pending: ReadonlySet<unknown> = new Set();
  for (const [index, message] of messages.entries()) {
    const blocks = objectsIn(message.content);
    checkResults(blocks, pending, index);
    pending = message.role === 'assistant' ? new Set(blocks.filter(isToolUse).map((block) => block.id)) : new Set();
    if (index === messages.length - 1) checkAnswered(pending, new Set(), index);
  }
}

function checkResults(blocks: readonly JsonObject[], pending: ReadonlySet<unknown>, index: number): void {
  const answered = new Set<unknown>();
  for (const [position, block] of blocks.entries()) {
    if (block.type !== 'tool_result') continue;
    const path = `messages.${index}.content.${position}`;
    if (!pending.has(block.tool_use_id)) throw unexpectedResult(path, block.tool_use_id);
    if (blocks.slice(0, position).some((earlier) => earlier.type !== 'tool_result')) {
      throw invalidRequest(`${path}: \`tool_result\` blocks must come before all other content of the message.`);
    }
    answered.add(block.tool_use_id);
  }
  checkAnswered(pending, answered, index - 1);
}

function unexpectedResult(path: string, id: unknown) {
  return invalidRequest(
    `${path}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${id}. Each \`tool_result\` block must have a corresponding \`tool_use\` block in the previous message.`,
  );
}

function checkAnswered(pending: ReadonlySet<unknown>, answered: ReadonlySet<unknown>, index: number): void {
  const missing = [...pending].filter((id) => !answered.has(id));
  if (missing.length === 0) return;
  throw invalidRequest(
    `messages.${index}: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${missing.join(', ')}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
  );
}

function isToolUse(block: JsonObject): boolean {
  return block.type === 'tool_use';
}

function checkLast(message: JsonObject | undefined, { prefill }: ModelTraits): void {
  if (message?.role !== 'assistant') return;
  if (!prefill) {
    throw invalidRequest(
      'This model does not support assistant message prefill. The conversation must end with a user message.',
    );
  }
  const last = objectsIn(message.content).at(-1)?.text ?? message.content;
  if (typeof last === 'string' && /\s$/.test(last)) {
    throw invalidRequest('messages: final assistant content cannot end with trailing whitespace');
  }
}

/**
 * Checks one content block of a message, as far as its kind is known here; other kinds pass.
 *
 * @throws {ProviderRefusal}
 */
function checkBlock(block: unknown, path: string, role: string): void {
  if (!isObject(block)) throw invalidRequest(`${path}: Input should be a valid dictionary`);
  switch (block.type) {
    case undefined:
      throw invalidRequest(`${path}.type: Field required`);
    case 'text':
      return checkText(block, path);
    case 'image':
      return checkImage(block, path);
    case 'tool_use':
      return checkToolUseBlock(block, path, role);
    case 'tool_result':
      return checkToolResult(block, path, role);
    case 'input_text':
    case 'output_text':
    case 'image_url':
      throw invalidRequest(
        `${path}: Input tag '${block.type}' found using 'type' does not match any of the expected tags`,
      );
  }
}

function checkText({ text }: JsonObject, path: string): void {
  if (typeof text !== 'string') throw invalidRequest(`${path}.text.text: Field required`);
  if (text === '') throw invalidRequest('messages: text content blocks must be non-empty');
  if (!/\S/.test(text)) throw invalidRequest('messages: text content blocks must contain non-whitespace text');
}

/** The first characters of each kind of image, in base64. */
const imageStarts: Readonly<Record<string, string>> = {
  'image/png': 'iVBORw0KGgo',
  'image/jpeg': '/9j/',
  'image/gif': 'R0lGOD',
  'image/webp': 'UklGR',
};

function checkImage({ source }: JsonObject, path: string): void {
  if (!isObject(source)) throw invalidRequest(`${path}.image.source: Field required`);
  if (source.type === 'url' && typeof source.url === 'string') return;
  if (source.type !== 'base64') return;
  const { media_type: mediaType, data } = source;
  if (typeof mediaType !== 'string' || imageStarts[mediaType] === undefined) {
    const kinds = Object.keys(imageStarts)
      .map((kind) => `'${kind}'`)
      .join(', ');
    throw invalidRequest(`${path}.image.source.base64.media_type: Input should be ${kinds}`);
  }
  if (typeof data !== 'string') throw invalidRequest(`${path}.image.source.base64.data: Field required`);
  const actual = Object.keys(imageStarts).find((kind) => data.startsWith(imageStarts[kind] ?? kind));
  if (actual === mediaType) return;
  throw invalidRequest(
    actual === undefined
      ? `${path}.image.source.base64.data: Could not process image`
      : `${path}.image.source.base64.data: The image was specified using the ${mediaType} media type, but the image appears to be a ${actual} image`,
  );
}

function checkToolUseBlock({ id, name, input }: JsonObject, path: string, role: string): void {
  if (role !== 'assistant') throw invalidRequest(`${path}: \`tool_use\` blocks can only be in \`assistant\` messages`);
  checkId(id, `${path}.tool_use.id`);
  if (typeof name !== 'string' || name === '') throw invalidRequest(`${path}.tool_use.name: Field required`);
  if (!isObject(input)) throw invalidRequest(`${path}.tool_use.input: Input should be a valid dictionary`);
}

function checkToolResult({ tool_use_id: id, content }: JsonObject, path: string, role: string): void {
  if (role !== 'user') throw invalidRequest(`${path}: \`tool_result\` blocks can only be in \`user\` messages`);
  checkId(id, `${path}.tool_result.tool_use_id`);
  if (objectsIn(content).some((block) => block.type === 'text' && block.text === '')) {
    throw invalidRequest('messages: text content blocks must be non-empty');
  }
}

function checkId(id: unknown, path: string): void {
  if (typeof id === 'string' && /^[a-zA-Z0-9_-]+$/.test(id)) return;
  throw invalidRequest(`${path}: String should match pattern '^[a-zA-Z0-9_-]+$'`);
}
