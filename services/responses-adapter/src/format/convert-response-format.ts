import type { ResponseFormat } from '@gateway/chat';
import { type Conversation, toDeveloperItem } from './convert-messages.ts';
import { checkName } from './convert-tools.ts';
import type { TextMember } from './provider-request.ts';

/**
 * Chat nests a schema's members one level deeper than Responses, and may omit the schema. Throws
 * `invalid_request` for a name that no schema may have.
 */
export function convertResponseFormat(format: ResponseFormat): TextMember | undefined {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { format: { type: 'json_object' } };
  const { name, description, schema, strict } = format;
  checkName(name, 'response_format.json_schema.name');
  const described = { name, ...(description !== undefined && { description }) };
  const held = { schema: schema ?? { type: 'object' }, ...(strict !== undefined && { strict }) };
  return { format: { type: 'json_schema', ...described, ...held } };
}

/**
 * The provider refuses `json_object` unless its input mentions JSON, and not every deployment
 * searches the instructions for it. A conversation that never mentions it gets a developer item.
 * The item comes first, so that a cached prefix stays valid.
 */
export function mentionJson(conversation: Conversation, format: ResponseFormat): Conversation {
  if (format.type !== 'json_object' || mentionsJson(conversation)) return conversation;
  const hint = toDeveloperItem(['Answer with one JSON object and nothing else.']);
  return { ...conversation, input: [hint, ...conversation.input] };
}

function mentionsJson({ input }: Conversation): boolean {
  return input.some(
    (item) =>
      item.type === 'message' && item.content.some((part) => part.type === 'input_text' && /json/i.test(part.text)),
  );
}
