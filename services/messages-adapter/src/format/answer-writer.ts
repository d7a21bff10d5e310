import type { ChatAnswer, FinishReason } from '@gateway/chat';
import type { JsonObject } from '@gateway/json';

interface CallStart {
  readonly id: string;
  readonly name: string;
  /** The arguments, if the provider sends them whole; otherwise empty. */
  readonly input: JsonObject;
}

/**
 * Writes the content blocks of one message into a chat answer. Calls are numbered from 0 without
 * gaps, whatever stands between them.
 */
export class AnswerWriter {
  readonly #sink: ChatAnswer;
  /** Blocks in progress, by index. */
  readonly #openBlocks = new Map<number, OpenBlock>();
  /**
   * Calls that ended without arguments and may have been cut there: nothing has started after them.
   */
  #endedWithout: readonly number[] = [];
  #callCount = 0;

  constructor(sink: ChatAnswer) {
    this.#sink = sink;
  }

  get hasCalls(): boolean {
    return this.#callCount > 0;
  }

  beginText(index: number, text: string): void {
    this.#begin(index, { type: 'text' });
    this.#sink.text(text);
  }

  beginCall(index: number, { id, name, input }: CallStart): void {
    const callIndex = this.#callCount++;
    this.#begin(index, { type: 'tool_use', callIndex, input, hasArguments: false });
    this.#sink.toolCall({ index: callIndex, id, name });
  }

  /** Nothing is written for such a block. */
  beginOther(index: number): void {
    this.#begin(index, { type: 'other' });
  }

  text(index: number, delta: string): void {
    if (this.#openBlocks.get(index)?.type !== 'other') this.#sink.text(delta);
  }

  callArguments(index: number, delta: string): void {
    const block = this.#openBlocks.get(index);
    if (block?.type !== 'tool_use' || delta === '') return;
    block.hasArguments = true;
    this.#sink.toolArguments(block.callIndex, delta);
  }

  /** A call that streamed no arguments gets those of its start. */
  endBlock(index: number): void {
    const block = this.#openBlocks.get(index);
    this.#openBlocks.delete(index);
    if (block?.type !== 'tool_use' || block.hasArguments) return;
    if (Object.keys(block.input).length === 0) this.#endedWithout = [...this.#endedWithout, block.callIndex];
    else this.#sink.toolArguments(block.callIndex, JSON.stringify(block.input));
  }

  endBlocks(): void {
    for (const index of [...this.#openBlocks.keys()]) this.endBlock(index);
  }

  /**
   * Some providers never stop a block: the next one at its index ends it. A provider also stops a
   * block in which an answer is cut. Only the start of another block shows that the model had
   * finished it, and clients need an object as the arguments of a complete call.
   */
  #begin(index: number, block: OpenBlock): void {
    this.endBlock(index);
    for (const callIndex of this.#endedWithout) this.#sink.toolArguments(callIndex, '{}');
    this.#endedWithout = [];
    this.#openBlocks.set(index, block);
  }
}

type OpenBlock =
  | { readonly type: 'text' | 'other' }
  | { readonly type: 'tool_use'; readonly callIndex: number; readonly input: JsonObject; hasArguments: boolean };

/**
 * The finish reason. Unless the answer was cut, its content decides: clients run tools, and ask
 * again, when the reason says that there are calls, whatever the provider's reason is.
 * @see https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons
 */
export function mapFinishReason(stopReason: string | undefined, hasToolCalls: boolean): FinishReason {
  switch (stopReason) {
    case 'max_tokens':
    case 'model_context_window_exceeded':
      return 'length';
    case 'refusal':
      return 'content_filter';
    default:
      return hasToolCalls ? 'tool_calls' : 'stop';
  }
}
