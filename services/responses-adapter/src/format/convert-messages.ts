import type { AssistantMessage, ChatMessage, SystemMessage, ToolMessage, UserMessage, UserPart } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { convertImage } from './convert-images.ts';
import { checkToolCalls, convertToolCall, convertToolId } from './convert-tools.ts';
import type {
  AssistantItem,
  FunctionCallOutputItem,
  InputImage,
  InputItem,
  InputText,
  MessageItem,
} from './provider-request.ts';

/** A conversation in the form of a Responses request. */
export interface Conversation {
  /** The system messages at the start of the conversation. */
  readonly instructions: string | undefined;
  readonly input: readonly InputItem[];
}

/**
 * Converts messages in order. System messages at the start become `instructions`, later ones
 * developer items in their place: subscription backends refuse the role `system`. If there are no
 * other messages, they become items too, because a request needs input. Throws `invalid_request`
 * when there is no message at all, and when tool calls and results do not match.
 */
export function convertMessages(messages: readonly ChatMessage[]): Conversation {
  checkToolCalls(messages);
  const firstOther = messages.findIndex((message) => message.role !== 'system');
  const opening = messages.slice(0, Math.max(firstOther, 0)).filter((message) => message.role === 'system');
  const items = messages.map(toInputItems);
  const input = items.slice(opening.length).flat();
  if (input.length > 0) return { instructions: toInstructions(opening), input };
  const instructionsAsInput = items.flat();
  if (instructionsAsInput.length > 0) return { instructions: undefined, input: instructionsAsInput };
  throw new GatewayError('invalid_request', 'messages must contain at least one message with content');
}

/** A system text as an item of its own. */
export function toDeveloperItem(text: readonly string[]): MessageItem {
  return { type: 'message', role: 'developer', content: text.map(toInputText) };
}

function toInstructions(messages: readonly SystemMessage[]): string | undefined {
  const texts = messages.flatMap((message) => message.text).filter((text) => text !== '');
  return texts.length === 0 ? undefined : texts.join('\n\n');
}

function toInputItems(message: ChatMessage, index: number): readonly InputItem[] {
  switch (message.role) {
    case 'system':
      return message.text.length === 0 ? [] : [toDeveloperItem(message.text)];
    case 'user':
      return message.parts.length === 0 ? [] : [toUserItem(message, `messages[${index}]`)];
    case 'assistant':
      return toAssistantItems(message);
    case 'tool':
      return [toFunctionCallOutput(message)];
  }
}

function toUserItem(message: UserMessage, path: string): MessageItem {
  const content = message.parts.map((part, index) => toUserPart(part, `${path}.content[${index}]`));
  return { type: 'message', role: 'user', content };
}

function toUserPart(part: UserPart, path: string): InputText | InputImage {
  return part.type === 'image' ? convertImage(part, path) : toInputText(part.text);
}

/** The text first, then one item per call. A message without text has no message item. */
function toAssistantItems(message: AssistantMessage): readonly InputItem[] {
  const content = message.parts.filter((part) => part.text !== '').map(toAssistantPart);
  const calls = message.toolCalls.map(convertToolCall);
  return content.length === 0 ? calls : [{ type: 'message', role: 'assistant', content }, ...calls];
}

function toAssistantPart(part: AssistantMessage['parts'][number]): AssistantItem['content'][number] {
  return part.type === 'refusal'
    ? { type: 'refusal', refusal: part.text }
    : { type: 'output_text', text: part.text, annotations: [] };
}

/** One string, with a line break between parts: not every backend accepts an array. */
function toFunctionCallOutput(message: ToolMessage): FunctionCallOutputItem {
  return {
    type: 'function_call_output',
    call_id: convertToolId(message.toolCallId),
    output: message.text.join('\n'),
  };
}

function toInputText(text: string): InputText {
  return { type: 'input_text', text };
}
