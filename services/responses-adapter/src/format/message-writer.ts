import type { ChatAnswerSink } from '@gateway/chat';
import type { MessageItem, MessagePart } from './event-types.ts';

/**
 * Writes the message items of one response as the one text that a chat answer has. Each part may come as deltas, whole,
 * or both: what is there already is not written again.
 *
 * A response may hold several messages (a comment, then the answer). As text they are parted by a blank line. A JSON
 * answer would break by that, so only one message is forwarded there: the first that is no commentary, or else the last
 * commentary.
 */
export class MessageWriter {
  readonly #sink: ChatAnswerSink;
  readonly #wantsJson: boolean;
  readonly #messages = new Map<number, Message>();
  /** The message whose text was written last. */
  #current: Message | undefined;
  #withheld: Message | undefined;

  constructor(sink: ChatAnswerSink, wantsJson: boolean) {
    this.#sink = sink;
    this.#wantsJson = wantsJson;
  }

  /** True once a message has said anything, forwarded or withheld. */
  hasText = false;

  /** Characters of text and refusals, withheld ones included. */
  producedCharacters = 0;

  begin(outputIndex: number, phase: string | undefined): void {
    this.#message(outputIndex, phase);
  }

  delta(outputIndex: number, contentIndex: number, part: MessagePart): void {
    if (part.text === '') return;
    const message = this.#message(outputIndex);
    message.parts.set(contentIndex, (message.parts.get(contentIndex) ?? '') + part.text);
    this.#write(message, part);
  }

  /** Writes what the deltas of a part left out. Deltas that said something else stand: they are with the client. */
  completePart(outputIndex: number, contentIndex: number, { type, text }: MessagePart): void {
    const written = this.#messages.get(outputIndex)?.parts.get(contentIndex) ?? '';
    if (text.startsWith(written)) this.delta(outputIndex, contentIndex, { type, text: text.slice(written.length) });
  }

  complete(outputIndex: number, item: MessageItem): void {
    this.begin(outputIndex, item.phase);
    item.parts.forEach((part, contentIndex) => {
      if (part !== undefined) this.completePart(outputIndex, contentIndex, part);
    });
  }

  /** No message follows. */
  finish(): void {
    if (this.#current === undefined && this.#withheld !== undefined) this.#sink.text(this.#withheld.withheld);
  }

  #message(outputIndex: number, phase?: string): Message {
    const known = this.#messages.get(outputIndex);
    if (known !== undefined) return known;
    const message: Message = { phase, parts: new Map(), withheld: '' };
    this.#messages.set(outputIndex, message);
    return message;
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

  #forward(message: Message, { text, textJson }: MessagePart): void {
    this.#current = message;
    this.#sink.text(text, textJson);
  }
}

interface Message {
  readonly phase: string | undefined;
  /** Text that came so far, by content index. */
  readonly parts: Map<number, string>;
  /** Commentary that is not part of a JSON answer, kept in case nothing else comes. */
  withheld: string;
}
