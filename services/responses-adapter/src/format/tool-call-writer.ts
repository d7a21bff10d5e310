import type { ChatAnswerSink } from '@gateway/chat';
import type { FunctionCallItem } from './event-types.ts';

/**
 * Writes the function calls of one response. Their indexes are dense, from 0, in the order in which they begin: a
 * call's own `output_index` counts reasoning and messages too. Arguments may come as deltas, whole, or both.
 */
export class ToolCallWriter {
  readonly #sink: ChatAnswerSink;
  readonly #calls = new Map<number, Call>();
  #begun = 0;

  constructor(sink: ChatAnswerSink) {
    this.#sink = sink;
  }

  /** Characters of arguments. */
  producedCharacters = 0;

  get hasCalls(): boolean {
    return this.#begun > 0;
  }

  /** True when arguments came of a call that nobody named. */
  get hasNamelessCalls(): boolean {
    return this.#calls.values().some((call) => call.index === undefined);
  }

  /** Writes a call's head, once its id and name are known, and the arguments that came before them. */
  begin(outputIndex: number, { callId, name }: FunctionCallItem): void {
    const call = this.#call(outputIndex);
    if (call.index !== undefined || !callId || !name) return;
    call.index = this.#begun++;
    call.id = callId;
    this.#sink.toolCall({ index: call.index, id: callId, name });
    if (call.arguments !== '') this.#sink.toolArguments(call.index, call.arguments);
  }

  /** `deltaJson`: see `ChatAnswerSink`. */
  delta(outputIndex: number, delta: string, deltaJson?: string): void {
    if (delta === '') return;
    const call = this.#call(outputIndex);
    call.arguments += delta;
    this.producedCharacters += delta.length;
    if (call.index !== undefined) this.#sink.toolArguments(call.index, delta, deltaJson);
  }

  /** Writes what the deltas left out. Deltas that said something else stand: they are with the client. */
  completeArguments(outputIndex: number, written: string): void {
    const known = this.#call(outputIndex).arguments;
    if (written.startsWith(known)) this.delta(outputIndex, written.slice(known.length));
  }

  /** A call without arguments gets an empty object of them before the next one begins: clients parse them there. */
  complete(outputIndex: number, item: FunctionCallItem): void {
    this.begin(outputIndex, item);
    this.completeArguments(outputIndex, item.arguments);
    const call = this.#call(outputIndex);
    if (call.index === undefined || call.arguments !== '') return;
    call.arguments = '{}';
    this.#sink.toolArguments(call.index, call.arguments);
  }

  /** As `complete`, for an item of which only the call id says which one it is. */
  completeById(item: FunctionCallItem): void {
    const known =
      this.#calls.entries().find(([, call]) => call.id === item.callId) ??
      this.#calls.entries().find(([, call]) => call.index === undefined);
    this.complete(known === undefined ? this.#freeIndex() : known[0], item);
  }

  #call(outputIndex: number): Call {
    const known = this.#calls.get(outputIndex);
    if (known !== undefined) return known;
    const call: Call = { index: undefined, id: undefined, arguments: '' };
    this.#calls.set(outputIndex, call);
    return call;
  }

  #freeIndex(): number {
    return Math.max(-1, ...this.#calls.keys()) + 1;
  }
}

interface Call {
  /** In the chat answer; undefined until the call's name is known. */
  index: number | undefined;
  id: string | undefined;
  arguments: string;
}
