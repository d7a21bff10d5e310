import { readFileSync } from 'node:fs';
import type { AnswerResult, ChatAnswerReader } from '@gateway/adapter-kit';
import { createChatAnswer, type ReportedUsage } from '@gateway/chat';
import { EventReader } from '../event-reader.ts';
import { RelayAnswerReader } from '../relay-answer-reader.ts';

/** When every replayed request arrived, in epoch milliseconds. */
export const replayedAtMs = 1_795_132_800_000;

export interface ReplayOptions {
  /** True: the client receives chunks. */
  readonly stream?: boolean;
  readonly wantsJson?: boolean;
}

/** A client's result of a provider's answer, in chunks or in one object. */
export interface ReplayedAnswer {
  readonly content: string | null;
  readonly refusal: string | undefined;
  readonly toolCalls: readonly ReplayedCall[];
  readonly finishReason: string | undefined;
  readonly usage: ReportedUsage | undefined;
  readonly ending: AnswerResult | undefined;
  readonly hasContent: boolean;
  readonly producedCharacters: number;
  readonly unknownEvents: number;
}

export interface ReplayedCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** A recorded event stream: `recordings/<name>.sse`. */
export function readFixture(name: string): Buffer {
  return readFileSync(new URL(`recordings/${name}.sse`, import.meta.url));
}

/** One event in the provider's framing. */
export function frame(event: { readonly type: string; readonly [member: string]: unknown }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

export function newReader({ stream = true, wantsJson = false }: ReplayOptions = {}): ChatAnswerReader {
  const answer = createChatAnswer({ id: 'r1', created: 1, model: 'gpt-5.5', stream, includeUsage: true });
  return new EventReader(answer, {
    wantsJson,
    nowMs: replayedAtMs,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  });
}

export function newRelayReader(): RelayAnswerReader {
  return new RelayAnswerReader({ nowMs: replayedAtMs, maxEventBytes: 1_000_000 });
}

/** Feeds a provider's answer to the reader in these pieces and returns the result. */
export function replay(pieces: readonly Uint8Array[], options: ReplayOptions = {}): ReplayedAnswer {
  const reader = newReader(options);
  const taken: Uint8Array[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    taken.push(reader.take());
  }
  reader.end();
  taken.push(reader.take());
  const text = Buffer.concat(taken).toString();
  return {
    ...(options.stream === false ? readCompletion(text) : readChunks(text)),
    usage: reader.reportedUsage,
    ending: reader.result,
    hasContent: reader.hasContent,
    producedCharacters: reader.producedCharacters,
    unknownEvents: reader.unknownEvents,
  };
}

type Said = Pick<ReplayedAnswer, 'content' | 'refusal' | 'toolCalls' | 'finishReason'>;

interface WireCall {
  readonly index?: number;
  readonly id?: string;
  readonly function: { readonly name?: string; readonly arguments: string };
}

interface WireMessage {
  readonly content?: string | null;
  readonly refusal?: string;
  readonly tool_calls?: readonly WireCall[];
}

interface WireChoice {
  readonly message?: WireMessage;
  readonly delta?: WireMessage;
  readonly finish_reason: string | null;
}

function readCompletion(text: string): Said {
  if (text === '') return { content: null, refusal: undefined, toolCalls: [], finishReason: undefined };
  const [choice] = (JSON.parse(text) as { choices: WireChoice[] }).choices;
  return {
    content: choice?.message?.content ?? null,
    refusal: choice?.message?.refusal,
    toolCalls: (choice?.message?.tool_calls ?? []).map((call) => ({
      id: call.id ?? '',
      name: call.function.name ?? '',
      arguments: call.function.arguments,
    })),
    finishReason: choice?.finish_reason ?? undefined,
  };
}

/** Assembles chunks as clients do: calls by their index, which must not skip a number. */
function readChunks(text: string): Said {
  let content = '';
  let refusal = '';
  let finishReason: string | undefined;
  const toolCalls: { id: string; name: string; arguments: string }[] = [];
  for (const choice of choicesOf(text)) {
    content += choice.delta?.content ?? '';
    refusal += choice.delta?.refusal ?? '';
    finishReason = choice.finish_reason ?? finishReason;
    for (const call of choice.delta?.tool_calls ?? []) addCall(toolCalls, call);
  }
  const saysNothing = content === '' && (refusal !== '' || toolCalls.length > 0 || finishReason === undefined);
  return { content: saysNothing ? null : content, refusal: refusal || undefined, toolCalls, finishReason };
}

function choicesOf(text: string): readonly WireChoice[] {
  const data = text.split('\n\n').filter((block) => block !== '' && block !== 'data: [DONE]');
  return data.flatMap((block) => (JSON.parse(block.slice('data: '.length)) as { choices: WireChoice[] }).choices);
}

function addCall(calls: { id: string; name: string; arguments: string }[], call: WireCall): void {
  const index = call.index ?? -1;
  if (call.id !== undefined) {
    if (index !== calls.length) throw new Error(`Call ${index} begins after ${calls.length} calls.`);
    calls.push({ id: call.id, name: call.function.name ?? '', arguments: '' });
  }
  const known = calls[index];
  if (known === undefined) throw new Error(`Arguments came for call ${index}, which has not begun.`);
  known.arguments += call.function.arguments;
}
