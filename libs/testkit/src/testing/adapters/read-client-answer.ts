import type { FinishReason, TokenUsage } from '@gateway/chat';
import { asArray, asNumber, asObject, asString, type JsonObject } from '@gateway/json';
import type { AssembledAnswer, Delta, StreamedAnswer } from './delta.ts';

/**
 * Reads a streamed chat answer as strictly as the specification allows. Throws when a chunk is out
 * of order, has a member too many or too few, or refers to a call that has not started.
 * @see spec "Chat completion chunk (streamed form)"
 */
export function readStreamedAnswer(stream: string): StreamedAnswer {
  const reader = new ChunkReader();
  for (const line of linesOf(stream)) reader.read(line);
  return reader.answer;
}

/** Reads a completion object. @see spec "Chat completion object" */
export function readCompletion(body: string): AssembledAnswer {
  const completion = parse(body);
  requireKeys(completion, ['id', 'object', 'created', 'model', 'choices'], ['usage']);
  requireThat(completion.object === 'chat.completion', `the object is ${String(completion.object)}`);
  const choice = onlyChoice(completion);
  requireKeys(choice, ['index', 'message', 'finish_reason']);
  const message = object(choice.message);
  requireKeys(message, ['role', 'content'], ['refusal', 'tool_calls']);
  requireThat(message.role === 'assistant', 'the role is not assistant');
  return {
    content: message.content === null ? null : string(message.content),
    refusal: message.refusal === undefined ? undefined : string(message.refusal),
    toolCalls: asArray(message.tool_calls).map((value) => {
      const toolCall = object(value);
      requireKeys(toolCall, ['id', 'type', 'function']);
      const called = object(toolCall.function);
      requireKeys(called, ['name', 'arguments']);
      return { id: string(toolCall.id), name: string(called.name), arguments: string(called.arguments) };
    }),
    finishReason: finishReason(choice.finish_reason),
    usage: completion.usage === undefined ? undefined : readUsage(completion.usage),
  };
}

/** The chunks of one stream, in their order: role, deltas, finish reason, usage, [DONE]. */
class ChunkReader {
  readonly #deltas: Delta[] = [];
  #identity: string | undefined;
  #calls = 0;
  #finishReason: FinishReason | undefined;
  #usage: TokenUsage | undefined;
  #isDone = false;

  get answer(): StreamedAnswer {
    requireThat(this.#isDone === (this.#finishReason !== undefined), 'a finished stream and only one ends in [DONE]');
    return { deltas: this.#deltas, finishReason: this.#finishReason, usage: this.#usage };
  }

  read(data: string): void {
    requireThat(!this.#isDone, `after [DONE] comes ${data}`);
    if (data === '[DONE]') this.#isDone = true;
    else this.#onChunk(parse(data));
  }

  #onChunk(chunk: JsonObject): void {
    requireKeys(chunk, ['id', 'object', 'created', 'model', 'choices'], ['usage']);
    requireThat(chunk.object === 'chat.completion.chunk', `the object is ${String(chunk.object)}`);
    const isFirst = this.#identity === undefined;
    const identity = JSON.stringify([chunk.id, chunk.created, chunk.model]);
    this.#identity ??= identity;
    requireThat(this.#identity === identity, 'id, created and model are the same in all chunks');
    if (asArray(chunk.choices).length === 0) this.#onUsage(chunk.usage);
    else this.#onChoice(onlyChoice(chunk), isFirst, chunk.usage);
  }

  #onUsage(usage: unknown): void {
    requireThat(this.#finishReason !== undefined && this.#usage === undefined, 'usage comes once, at the end');
    this.#usage = readUsage(usage);
  }

  #onChoice(choice: JsonObject, isFirst: boolean, usage: unknown): void {
    requireThat(usage === undefined, 'usage is in the usage chunk only');
    requireKeys(choice, ['index', 'delta', 'finish_reason']);
    requireThat(this.#finishReason === undefined, 'nothing but usage follows the finish reason');
    const delta = object(choice.delta);
    if (isFirst) return requireThat(sameJson(delta, firstDelta), `the first delta is ${JSON.stringify(delta)}`);
    if (choice.finish_reason === null) return this.#onDelta(delta);
    requireKeys(delta, []);
    this.#finishReason = finishReason(choice.finish_reason);
  }

  #onDelta(delta: JsonObject): void {
    if ('content' in delta) this.#onText('text', delta, 'content');
    else if ('refusal' in delta) this.#onText('refusal', delta, 'refusal');
    else this.#onToolCall(delta);
  }

  #onText(kind: 'text' | 'refusal', delta: JsonObject, key: string): void {
    requireKeys(delta, [key]);
    const said = string(delta[key]);
    requireThat(said !== '', 'no delta is empty');
    this.#deltas.push({ kind, text: said });
  }

  #onToolCall(delta: JsonObject): void {
    requireKeys(delta, ['tool_calls']);
    const toolCall = object(only(asArray(delta.tool_calls), 'tool call'));
    const index = asNumber(toolCall.index) ?? -1;
    const called = object(toolCall.function);
    if (!('id' in toolCall)) {
      requireKeys(toolCall, ['index', 'function']);
      requireKeys(called, ['arguments']);
      requireThat(index >= 0 && index < this.#calls, `call ${index} has not begun`);
      this.#deltas.push({ kind: 'arguments', index, text: string(called.arguments) });
      return;
    }
    requireKeys(toolCall, ['index', 'id', 'type', 'function']);
    requireThat(
      toolCall.type === 'function' && called.arguments === '',
      'a call begins as a function, without arguments',
    );
    requireThat(index === this.#calls, `call ${index} begins after ${this.#calls} calls`);
    this.#calls += 1;
    this.#deltas.push({ kind: 'call', index, id: string(toolCall.id), name: string(called.name) });
  }
}

const firstDelta = { role: 'assistant', content: '' };

function linesOf(stream: string): readonly string[] {
  if (stream === '') return [];
  requireThat(stream.endsWith('\n\n'), 'the stream ends within an event');
  return stream
    .slice(0, -2)
    .split('\n\n')
    .map((event) => {
      requireThat(event.startsWith('data: ') && !event.includes('\n'), `an event is ${event}`);
      return event.slice('data: '.length);
    });
}

function onlyChoice(holder: JsonObject): JsonObject {
  const choice = object(only(asArray(holder.choices), 'choice'));
  requireThat(choice.index === 0, 'the choice has index 0');
  return choice;
}

function readUsage(value: unknown): TokenUsage {
  const usage = object(value);
  requireKeys(usage, [
    'prompt_tokens',
    'completion_tokens',
    'total_tokens',
    'prompt_tokens_details',
    'completion_tokens_details',
  ]);
  const read = {
    inputTokens: number(usage.prompt_tokens),
    cachedTokens: number(object(usage.prompt_tokens_details).cached_tokens),
    outputTokens: number(usage.completion_tokens),
    reasoningTokens: number(object(usage.completion_tokens_details).reasoning_tokens),
  };
  requireThat(usage.total_tokens === read.inputTokens + read.outputTokens, 'the total is the sum');
  requireThat(read.cachedTokens <= read.inputTokens, 'cached tokens are part of the input');
  requireThat(read.reasoningTokens <= read.outputTokens, 'reasoning tokens are part of the output');
  return read;
}

const finishReasons: readonly FinishReason[] = ['stop', 'length', 'tool_calls', 'content_filter'];

function finishReason(value: unknown): FinishReason {
  const known = finishReasons.find((reason) => reason === value);
  if (known === undefined) throw new Error(`the finish reason is ${String(value)}`);
  return known;
}

function parse(json: string): JsonObject {
  return object(JSON.parse(json));
}

function object(value: unknown): JsonObject {
  const known = asObject(value);
  if (known === undefined) throw new Error(`${JSON.stringify(value)} is no object`);
  return known;
}

function string(value: unknown): string {
  const known = asString(value);
  if (known === undefined) throw new Error(`${JSON.stringify(value)} is no text`);
  return known;
}

function number(value: unknown): number {
  const known = asNumber(value);
  if (known === undefined) throw new Error(`${JSON.stringify(value)} is no number`);
  return known;
}

function only(values: readonly unknown[], what: string): unknown {
  requireThat(values.length === 1, `there are ${values.length} of the one ${what}`);
  return values[0];
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function requireKeys(value: JsonObject, required: readonly string[], optional: readonly string[] = []): void {
  const missing = required.filter((key) => !(key in value));
  const extra = Object.keys(value).filter((key) => !required.includes(key) && !optional.includes(key));
  requireThat(missing.length + extra.length === 0, `members are missing (${missing}) or too many (${extra})`);
}

function requireThat(holds: boolean, problem: string): void {
  if (!holds) throw new Error(`Not a chat answer: ${problem}.`);
}
