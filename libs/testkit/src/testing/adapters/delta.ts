import type { FinishReason, TokenUsage, ToolCallStart } from '@gateway/chat';

/** One piece of a chat answer as a client receives it. */
export type Delta =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'refusal'; readonly text: string }
  | ({ readonly kind: 'call' } & ToolCallStart)
  | { readonly kind: 'arguments'; readonly index: number; readonly text: string };

export const text = (delta: string): Delta => ({ kind: 'text', text: delta });
export const refusal = (delta: string): Delta => ({ kind: 'refusal', text: delta });
/** A tool call starts. `index` counts the answer's calls from 0. */
export const call = (index: number, id: string, name: string): Delta => ({ kind: 'call', index, id, name });
/** A piece of the arguments of the call with this index. */
export const args = (index: number, delta: string): Delta => ({ kind: 'arguments', index, text: delta });

/** A streamed chat answer; without a finish reason it was cut off. */
export interface StreamedAnswer {
  readonly deltas: readonly Delta[];
  readonly finishReason: FinishReason | undefined;
  readonly usage: TokenUsage | undefined;
}

/** A chat answer in one object. */
export interface AssembledAnswer {
  readonly content: string | null;
  readonly refusal: string | undefined;
  readonly toolCalls: readonly AssembledCall[];
  readonly finishReason: FinishReason | undefined;
  readonly usage: TokenUsage | undefined;
}

export interface AssembledCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** Assembles a streamed answer into one object. @see spec "Chat completion object" */
export function assemble({ deltas, finishReason, usage }: StreamedAnswer): AssembledAnswer {
  const content = joined(deltas, 'text');
  const refused = joined(deltas, 'refusal');
  const toolCalls = deltas
    .filter((delta) => delta.kind === 'call')
    .map(({ index, id, name }) => ({ id, name, arguments: argumentsOf(index, deltas) }));
  const saysNothing = content === '' && (toolCalls.length > 0 || refused !== '');
  return {
    content: saysNothing ? null : content,
    refusal: refused === '' ? undefined : refused,
    toolCalls,
    finishReason,
    usage,
  };
}

function joined(deltas: readonly Delta[], kind: 'text' | 'refusal'): string {
  return deltas.map((delta) => (delta.kind === kind ? delta.text : '')).join('');
}

function argumentsOf(index: number, deltas: readonly Delta[]): string {
  return deltas.map((delta) => (delta.kind === 'arguments' && delta.index === index ? delta.text : '')).join('');
}
