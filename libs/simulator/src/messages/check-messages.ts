import { isJsonObject, type JsonObject, toArray, toObjects } from '../json-value.ts';
import { checkBlock } from './check-block.ts';
import { invalidRequest } from './errors.ts';
import { type ModelTraits, traitsOf } from './model-traits.ts';

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
  if (isJsonObject(thread) && thread.type === 'continue') return;
  checkFirst(messages[0]);
  checkToolUse(toObjects(messages));
  checkLast(toObjects(messages).at(-1), traits);
}

function checkMessage(message: unknown, path: string, { systemMessages }: ModelTraits): void {
  if (!isJsonObject(message)) throw invalidRequest(`${path}: Input should be a valid dictionary`);
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
  for (const [index, block] of toArray(content).entries()) checkBlock(block, `${path}.content.${index}`, role);
}

function checkFirst(message: unknown): void {
  if (isJsonObject(message) && message.role !== 'assistant') return;
  throw invalidRequest('messages: first message must use the "user" role');
}

function checkToolUse(messages: readonly JsonObject[]): void {
  let pending: ReadonlySet<unknown> = new Set();
  for (const [index, message] of messages.entries()) {
    const blocks = toObjects(message.content);
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
  const last = toObjects(message.content).at(-1)?.text ?? message.content;
  if (typeof last === 'string' && /\s$/.test(last)) {
    throw invalidRequest('messages: final assistant content cannot end with trailing whitespace');
  }
}
