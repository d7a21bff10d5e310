import type { AnswerEnding, AnswerPart } from './plan-answer.ts';
import { countTokens, cutToTokens } from './tokens.ts';

/** What ends an answer before it is complete. */
export interface AnswerBounds {
  /** Undefined: no limit. */
  readonly maxOutputTokens: number | undefined;
  readonly stopSequences: readonly string[];
  /** How the answer ends when neither of them cuts it. */
  readonly ending: AnswerEnding;
}

export interface CutAnswer {
  readonly parts: readonly AnswerPart[];
  readonly ending: AnswerEnding;
}

/** Applies stop sequences, then the limit on output tokens, which counts reasoning too. */
export function cutAnswer(parts: readonly AnswerPart[], bounds: AnswerBounds): CutAnswer {
  const stopped = cutAtStopSequence(parts, bounds);
  return cutAtLimit(stopped, bounds.maxOutputTokens ?? Number.POSITIVE_INFINITY);
}

function cutAtStopSequence(parts: readonly AnswerPart[], { stopSequences, ending }: AnswerBounds): CutAnswer {
  for (const [index, part] of parts.entries()) {
    const found = part.kind === 'text' ? firstStopSequence(part.text, stopSequences) : undefined;
    if (found === undefined || part.kind !== 'text') continue;
    const text = part.text.slice(0, found.position);
    const shortened = text === '' ? [] : [{ ...part, text, tokens: countTokens(text) }];
    return {
      parts: [...parts.slice(0, index), ...shortened],
      ending: { kind: 'stop_sequence', sequence: found.sequence },
    };
  }
  return { parts, ending };
}

function firstStopSequence(text: string, sequences: readonly string[]) {
  return sequences
    .map((sequence) => ({ sequence, position: text.indexOf(sequence) }))
    .filter(({ position }) => position >= 0)
    .sort((left, right) => left.position - right.position)[0];
}

function cutAtLimit({ parts, ending }: CutAnswer, maximumTokens: number): CutAnswer {
  const kept: AnswerPart[] = [];
  let remaining = maximumTokens;
  for (const part of parts) {
    if (part.tokens > remaining) {
      return { parts: [...kept, ...shorten(part, remaining)], ending: { kind: 'length' } };
    }
    kept.push(part);
    remaining -= part.tokens;
  }
  return { parts: kept, ending };
}

function shorten(part: AnswerPart, tokens: number): readonly AnswerPart[] {
  if (tokens === 0) return [];
  if (part.kind === 'reasoning') return [{ ...part, tokens }];
  if (part.kind === 'tool_call') return shortenCall(part, tokens);
  const text = cutToTokens(part.text, tokens);
  return text === '' ? [] : [{ ...part, text, tokens: countTokens(text) }];
}

/** A call cut by the limit keeps its name and the beginning of its arguments: clients see JSON that does not end. */
function shortenCall(part: Extract<AnswerPart, { kind: 'tool_call' }>, tokens: number): readonly AnswerPart[] {
  const kept = cutToTokens(part.name + part.argumentsText, tokens);
  if (kept.length < part.name.length) return [];
  const argumentsText = kept.slice(part.name.length);
  return [{ ...part, argumentsText, tokens: countTokens(kept) }];
}
