import type { ResponseFormat } from '@gateway/chat';
import { type Conversation, toDeveloperItem } from './convert-messages.ts';
import { checkName } from './convert-tools.ts';
import type { TextMember } from './provider-request.ts';

/**
 * Chat nests a schema's members one level deeper than Responses, and may leave the schema out.
 * Throws `invalid_request` for a name that no schema can have.
 */
export function convertResponseFormat(format: ResponseFormat): TextMember | undefined {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { format: { type: 'json_object' } };
  const { name, description, schema, strict } = format;
  checkName(name, 'response_format.json_schema.name');
  return { format: { type: 'json_schema', name, description, schema: schema ?? { type: 'object' }, strict } };
}

/**
 * The provider refuses `json_object` unless its input mentions JSON, and not every deployment reads
 * the instructions for it. A conversation that never does gets a developer item; it comes first,
 * where it keeps a cached prefix.
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
