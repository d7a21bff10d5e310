import type { AssistantMessage, ChatMessage, SystemMessage, ToolMessage, UserMessage } from '@gateway/chat';
import { GatewayError } from '@gateway/errors';
import { convertImage } from './convert-images.ts';
import { ConversationToolIds, checkName, readToolArguments } from './convert-tools.ts';
import type { ImageBlock, ProviderMessage, TextBlock, ToolResultBlock, ToolUseBlock } from './provider-request.ts';

export interface ConvertedConversation {
  /** System texts in order; empty when there are none. */
  readonly system: readonly string[];
  readonly messages: ProviderMessage[];
  /** Names of the tools that earlier turns called, each once. */
  readonly calledTools: ReadonlySet<string>;
  /** True when the last message is the user's and does not contain tool results. */
  readonly endsWithUserInput: boolean;
}

/**
 * Converts a chat conversation to the structure that the Messages format requires: the user starts,
 * roles alternate, all results of a turn's tool calls come first in the next message, text precedes
 * calls, and no text is blank. Throws `invalid_request` when calls and results do not match, when
 * the format does not allow a call's name, and when nothing is left to send; `unsupported_content`
 * for an image that the format does not support.
 *
 * @see https://platform.claude.com/docs/en/build-with-claude/working-with-messages
 * @see https://platform.claude.com/docs/en/agents-and-tools/tool-use/handle-tool-calls
 */
export function convertMessages(messages: readonly ChatMessage[]): ConvertedConversation {
  const conversation = new Conversation();
  for (const [index, message] of messages.entries()) conversation.add(message, index);
  return conversation.finish();
}

/**
 * Inserted when a conversation starts with the assistant, because the first message must be the
 * user's.
 */
const missingBeginning: TextBlock = { type: 'text', text: '(The conversation begins with your answer.)' };

interface UserTurn {
  readonly role: 'user';
  readonly results: ToolResultBlock[];
  readonly input: (TextBlock | ImageBlock)[];
}

interface AssistantTurn {
  readonly role: 'assistant';
  readonly text: TextBlock[];
  readonly calls: ToolUseBlock[];
}

class Conversation {
  readonly #system: string[] = [];
  /** The number of system texts before the last message of the assistant. */
  #systemTextsBeforeAnswer = 0;
  readonly #turns: (UserTurn | AssistantTurn)[] = [];
  readonly #toolIds = new ConversationToolIds();
  readonly #calledTools = new Set<string>();

  add(message: ChatMessage, index: number): void {
    switch (message.role) {
      case 'system':
        return this.#addSystem(message);
      case 'user':
        return this.#addUser(message, index);
      case 'assistant':
        return this.#addAssistant(message, index);
      case 'tool':
        return this.#addToolResult(message, index);
    }
  }

  finish(): ConvertedConversation {
    if (this.#toolIds.hasUnanswered) throw unansweredCalls('messages');
    this.#sayClosingSystemTexts();
    if (this.#turns.length === 0) {
      throw new GatewayError('invalid_request', 'messages must contain at least one message with content');
    }
    const [first, last] = [this.#turns[0], this.#turns.at(-1)];
    if (first?.role === 'assistant') this.#turns.unshift({ role: 'user', results: [], input: [missingBeginning] });
    if (last?.role === 'assistant') trimEnd(last);
    return {
      system: this.#system,
      messages: this.#turns.map(toMessage),
      calledTools: this.#calledTools,
      endsWithUserInput: last?.role === 'user' && last.results.length === 0,
    };
  }

  #addSystem(message: SystemMessage): void {
    for (const text of message.text) if (hasText(text)) this.#system.push(text);
  }

  #addUser(message: UserMessage, index: number): void {
    for (const [partIndex, part] of message.parts.entries()) {
      if (part.type === 'image') {
        this.#userTurn().input.push(convertImage(part.url, `messages[${index}].content[${partIndex}].image_url.url`));
      } else if (hasText(part.text)) {
        this.#userTurn().input.push({ type: 'text', text: part.text });
      }
    }
  }

  #addAssistant(message: AssistantMessage, index: number): void {
    const texts = message.parts.filter((part) => hasText(part.text));
    if (texts.length === 0 && message.toolCalls.length === 0) return;
    const turn = this.#assistantTurn(index);
    for (const { text } of texts) turn.text.push({ type: 'text', text });
    for (const [callIndex, call] of message.toolCalls.entries()) {
      checkName(call.name, `messages[${index}].tool_calls[${callIndex}].function.name`);
      this.#calledTools.add(call.name);
      const id = this.#toolIds.call(call.id);
      turn.calls.push({ type: 'tool_use', id, name: call.name, input: readToolArguments(call.arguments) });
    }
  }

  #addToolResult(message: ToolMessage, index: number): void {
    const id = this.#toolIds.result(message.toolCallId);
    if (id === undefined) {
      const problem = 'must be the id of an earlier tool call without a result';
      throw new GatewayError('invalid_request', `messages[${index}].tool_call_id ${problem}`);
    }
    this.#userTurn().results.push({ type: 'tool_result', tool_use_id: id, ...resultContent(message.text) });
  }

  #userTurn(): UserTurn {
    const last = this.#turns.at(-1);
    if (last?.role === 'user') return last;
    const turn: UserTurn = { role: 'user', results: [], input: [] };
    this.#turns.push(turn);
    return turn;
  }

  #assistantTurn(index: number): AssistantTurn {
    this.#systemTextsBeforeAnswer = this.#system.length;
    const last = this.#turns.at(-1);
    if (last?.role === 'assistant') return last;
    if (this.#toolIds.hasUnanswered) throw unansweredCalls(`messages[${index}]`);
    const turn: AssistantTurn = { role: 'assistant', text: [], calls: [] };
    this.#turns.push(turn);
    return turn;
  }

  /**
   * Instructions after the last answer, or without any message, become text of the user, so that
   * the user speaks last. Among the other instructions they would leave the model an answer to
   * continue, or nothing to answer.
   */
  #sayClosingSystemTexts(): void {
    if (this.#turns.at(-1)?.role === 'user') return;
    const texts = this.#system.splice(this.#systemTextsBeforeAnswer);
    if (texts.length > 0) this.#userTurn().input.push({ type: 'text', text: texts.join('\n\n') });
  }
}

function toMessage(turn: UserTurn | AssistantTurn): ProviderMessage {
  if (turn.role === 'user') return { role: 'user', content: [...turn.results, ...turn.input] };
  return { role: 'assistant', content: [...turn.text, ...turn.calls] };
}

/** A started answer that the model is to continue must not end in whitespace. */
function trimEnd(turn: AssistantTurn): void {
  const last = turn.text.pop();
  if (last !== undefined) turn.text.push({ type: 'text', text: last.text.trimEnd() });
}

function resultContent(texts: readonly string[]): Pick<ToolResultBlock, 'content'> {
  const [first, ...others] = texts.filter(hasText);
  if (first === undefined) return {};
  if (others.length === 0) return { content: first };
  return { content: [first, ...others].map((text) => ({ type: 'text', text })) };
}

/** The provider refuses blocks that are empty or consist of whitespace only. */
function hasText(text: string): boolean {
  return /\S/.test(text);
}

function unansweredCalls(where: string): GatewayError {
  const problem = 'must not leave a tool call without a result: a tool message with the id of the call';
  return new GatewayError('invalid_request', `${where} ${problem}`);
}
