import type { ResponseFormat } from '@gateway/chat';
import { checkName } from './check-name.ts';
import { type Conversation, toDeveloperItem } from './convert-messages.ts';

/** `text` of a Responses request; absent for plain text. */
export interface TextMember {
  readonly format:
    | { readonly type: 'json_object' }
    | {
        readonly type: 'json_schema';
        readonly name: string;
        readonly description: string | undefined;
        readonly schema: Readonly<Record<string, unknown>>;
        readonly strict: boolean | undefined;
      };
}

/**
 * Chat nests a schema's members one level deeper than Responses, and may leave the schema out. Throws `invalid_request`
 * for a name that no schema can have.
 */
export function convertResponseFormat(format: ResponseFormat): TextMember | undefined {
  if (format.type === 'text') return undefined;
  if (format.type === 'json_object') return { format: { type: 'json_object' } };
  const { name, description, schema, strict } = format;
  checkName(name, 'response_format.json_schema.name');
  return { format: { type: 'json_schema', name, description, schema: schema ?? { type: 'object' }, strict } };
}

/**
 * The provider refuses `json_object` unless its input mentions JSON, and not every deployment reads the instructions
 * for it. A conversation that never does is told in a developer item; it comes first, where it keeps a cached prefix.
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
