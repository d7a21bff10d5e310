import type { ChatAnswer, FinishReason } from '@gateway/chat';
import { asArray, asObject, asString } from '@gateway/json';

export interface MessageItem {
  readonly type: 'message';
  /**
   * "commentary" before tool calls, "final_answer" at the end; undefined for models that do not
   * report it.
   */
  readonly phase: string | undefined;
  /** By `content_index`; parts of other kinds are undefined. */
  readonly parts: readonly (MessagePart | undefined)[];
}

export interface MessagePart {
  readonly type: 'text' | 'refusal';
  readonly text: string;
}

interface CallItem {
  readonly type: 'function_call';
  readonly callId: string | undefined;
  readonly name: string | undefined;
  readonly arguments: string;
}

/** An item of a response; undefined for reasoning, built-in tools and unknown types. */
export function readItem(value: unknown): MessageItem | CallItem | undefined {
  const item = asObject(value);
  switch (item?.type) {
    case 'message':
      return { type: 'message', phase: asString(item.phase), parts: asArray(item.content).map(readPart) };
    case 'function_call':
      return {
        type: 'function_call',
        callId: asString(item.call_id) ?? asString(item.id),
        name: asString(item.name),
        arguments: asString(item.arguments) ?? '',
      };
    default:
      return undefined;
  }
}

export function readPart(value: unknown): MessagePart | undefined {
  const part = asObject(value);
  if (part?.type === 'output_text') return { type: 'text', text: asString(part.text) ?? '' };
  return part?.type === 'refusal' ? { type: 'refusal', text: asString(part.refusal) ?? '' } : undefined;
}

/**
 * Writes the message items of one response as the single text of a chat answer. A key identifies
 * each item. A part may arrive as deltas, whole, or both: what is already written is not written
 * again.
 *
 * A response may contain several messages (a comment, then the answer). In plain text a blank line
 * separates them. That would break a JSON answer, so only one message is forwarded there: the first
 * that is not commentary, or else the last commentary.
 */
export class MessageWriter {
  readonly #sink: ChatAnswer;
  readonly #wantsJson: boolean;
  readonly #messages = new Map<number, Message>();
  /** The message whose text was written last. */
  #current: Message | undefined;
  #withheld: Message | undefined;

  constructor(sink: ChatAnswer, wantsJson: boolean) {
    this.#sink = sink;
    this.#wantsJson = wantsJson;
  }

  /** True once a message contains any text, forwarded or withheld. */
  hasText = false;

  /** Characters of text and refusals, including withheld ones. */
  producedCharacters = 0;

  begin(key: number, phase: string | undefined): void {
    this.#message(key, phase);
  }

  delta(key: number, contentIndex: number, part: MessagePart): void {
    if (part.text === '') return;
    const message = this.#message(key);
    message.parts.set(contentIndex, (message.parts.get(contentIndex) ?? '') + part.text);
    this.#write(message, part);
  }

  /**
   * Writes what the deltas of a part left out. If they differ from the whole part, they stay,
   * because the client already has them.
   */
  completePart(key: number, contentIndex: number, { type, text }: MessagePart): void {
    const written = this.#messages.get(key)?.parts.get(contentIndex) ?? '';
    if (text.startsWith(written)) this.delta(key, contentIndex, { type, text: text.slice(written.length) });
  }

  complete(key: number, item: MessageItem): void {
    this.begin(key, item.phase);
    item.parts.forEach((part, contentIndex) => {
      if (part !== undefined) this.completePart(key, contentIndex, part);
    });
  }

  /** No message follows. */
  finish(): void {
    if (this.#current === undefined && this.#withheld !== undefined) this.#sink.text(this.#withheld.withheld);
  }

  #message(key: number, phase?: string): Message {
    return this.#messages.getOrInsertComputed(key, () => ({ phase, parts: new Map(), withheld: '' }));
  }

  #write(message: Message, part: MessagePart): void {
    this.hasText = true;
    this.producedCharacters += part.text.length;
    if (part.type === 'refusal') this.#sink.refusal(part.text);
    else if (this.#wantsJson) this.#writeOnlyOne(message, part);
    else this.#writeWithBreaks(message, part);
  }

  #writeWithBreaks(message: Message, part: MessagePart): void {
    if (this.#current !== undefined && this.#current !== message) this.#sink.text('\n\n');
    this.#forward(message, part);
  }

  #writeOnlyOne(message: Message, part: MessagePart): void {
    if (message.phase === 'commentary') {
      message.withheld += part.text;
      this.#withheld = message;
    } else if (this.#current === undefined || this.#current === message) {
      this.#forward(message, part);
    }
  }

  #forward(message: Message, { text }: MessagePart): void {
    this.#current = message;
    this.#sink.text(text);
  }
}

interface Message {
  readonly phase: string | undefined;
  /** The text so far, by content index. */
  readonly parts: Map<number, string>;
  /** Commentary that is not part of a JSON answer, kept in case nothing else follows. */
  withheld: string;
}

/**
 * Writes the function calls of one response, each identified by a key. Their indexes count from 0
 * without gaps, in the order in which the calls start: a call's own `output_index` also counts
 * reasoning and messages. Arguments may arrive as deltas, whole, or both.
 */
export class CallWriter {
  readonly #sink: ChatAnswer;
  readonly #calls = new Map<number, Call>();
  /** Calls whose items have ended, and after which nothing has started. */
  #ended: readonly Call[] = [];
  #begun = 0;

  constructor(sink: ChatAnswer) {
    this.#sink = sink;
  }

  /** Characters of arguments. */
  producedCharacters = 0;

  get hasCalls(): boolean {
    return this.#begun > 0;
  }

  /** True when arguments arrived for a call whose name never did. */
  get hasNamelessCalls(): boolean {
    return this.#calls.values().some((call) => call.index === undefined);
  }

  /**
   * Writes a call's head, once its id and name are known, and the arguments that arrived earlier.
   */
  begin(key: number, { callId, name }: CallItem): void {
    const call = this.#call(key);
    if (call.index !== undefined || !callId || !name) return;
    call.index = this.#begun++;
    call.id = callId;
    this.#sink.toolCall({ index: call.index, id: callId, name });
    if (call.arguments !== '') this.#sink.toolArguments(call.index, call.arguments);
  }

  delta(key: number, delta: string): void {
    if (delta === '') return;
    const call = this.#call(key);
    call.arguments += delta;
    this.producedCharacters += delta.length;
    if (call.index !== undefined) this.#sink.toolArguments(call.index, delta);
  }

  /**
   * Writes what the deltas left out. If they differ from the whole arguments, they stay, because
   * the client already has them.
   */
  completeArguments(key: number, written: string): void {
    const known = this.#call(key).arguments;
    if (written.startsWith(known)) this.delta(key, written.slice(known.length));
  }

  /**
   * A call without arguments may still be incomplete: when a response is cut, its last item ends
   * too.
   */
  complete(key: number, item: CallItem): void {
    this.begin(key, item);
    this.completeArguments(key, item.arguments);
    this.#ended = [...this.#ended, this.#call(key)];
  }

  /**
   * Another item starts, so earlier ones were not cut. Clients need an object as the arguments of a
   * complete call.
   */
  onNextItem(): void {
    for (const call of this.#ended) this.#fillArguments(call);
    this.#ended = [];
  }

  /**
   * Like `complete`, for an item of a whole response, which only its call id identifies: otherwise
   * it is a new one.
   */
  completeById(item: CallItem, { newKey, isLast }: { readonly newKey: number; readonly isLast: boolean }): void {
    const [key = newKey] =
      this.#calls.entries().find(([, call]) => call.id === item.callId) ??
      this.#calls.entries().find(([, call]) => call.index === undefined) ??
      [];
    this.complete(key, item);
    if (!isLast) this.#fillArguments(this.#call(key));
  }

  #fillArguments(call: Call): void {
    if (call.index === undefined || call.arguments !== '') return;
    call.arguments = '{}';
    this.#sink.toolArguments(call.index, call.arguments);
  }

  #call(key: number): Call {
    return this.#calls.getOrInsertComputed(key, () => ({ index: undefined, id: undefined, arguments: '' }));
  }
}

interface Call {
  /** The index in the chat answer; undefined until the call's name is known. */
  index: number | undefined;
  id: string | undefined;
  arguments: string;
}

/** How a response that is an answer ended, with `incomplete_details.reason`. */
interface ResponseEnding {
  readonly status: 'completed' | 'incomplete';
  readonly incompleteReason: string | undefined;
  readonly hasToolCalls: boolean;
}

/**
 * An incomplete answer was cut: by a content filter, or else by length, whatever reason it gives.
 */
export function mapFinishReason({ status, incompleteReason, hasToolCalls }: ResponseEnding): FinishReason {
  if (status === 'incomplete') return incompleteReason === 'content_filter' ? 'content_filter' : 'length';
  return hasToolCalls ? 'tool_calls' : 'stop';
}
