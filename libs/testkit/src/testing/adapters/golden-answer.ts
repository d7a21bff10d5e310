import type { AnswerReader } from '@gateway/adapter-kit';
import { type FinishReason, type ReportedUsage, wholeUsage } from '@gateway/chat';
import type { GatewayErrorCode } from '@gateway/errors';
import { AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { assemble, type Delta } from './delta.ts';
import { readCompletion, readStreamedAnswer } from './read-client-answer.ts';

/** A provider's answer and the result for a chat client. */
export interface AnswerCase {
  /** What the case shows: "text in several deltas". */
  readonly name: string;
  /** The bytes of the provider. */
  readonly stream: Buffer;
  /** True when the client requested JSON (`response_format`). */
  readonly wantsJson?: true | undefined;
  /** True for streams that are tested with a split at every position. */
  readonly everySplit?: true | undefined;
  /** What the client receives, piece by piece, up to the end or the failure. */
  readonly deltas: readonly Delta[];
  readonly ending: FinishReason | ExpectedFailure;
  /** The provider's reported usage, even for a failed answer. Absent: none. */
  readonly usage?: ReportedUsage;
  /** How many unknown events were skipped; 0 when absent. */
  readonly unknownEvents?: number | undefined;
}

export interface ExpectedFailure {
  readonly failed: keyof typeof AttemptResult;
  /** The error that the client receives if no other attempt is made. */
  readonly code: GatewayErrorCode;
  /** Epoch milliseconds. */
  readonly retryAtMs?: number | undefined;
  readonly modelScoped?: boolean | undefined;
}

export interface GoldenReader extends AnswerReader {
  readonly unknownEvents: number;
}

export type OpenReader = (options: { readonly stream: boolean; readonly wantsJson: boolean }) => GoldenReader;

/**
 * Tests that every case has the expected result: streamed and assembled, whole and split in all
 * ways.
 */
export function describeGoldenAnswers(cases: readonly AnswerCase[], openReader: OpenReader): void {
  describe.each(cases.map((answer) => [answer.name, answer] as const))('%s', (_name, answer) => {
    const { stream: bytes } = answer;
    const replayed = (pieces: readonly Uint8Array[], stream = true) =>
      replay(openReader({ stream, wantsJson: answer.wantsJson ?? false }), pieces);

    it('is streamed', () => {
      const { text, ...seen } = replayed([bytes]);
      expect(readStreamedAnswer(text)).toEqual(expectedStream(answer));
      expect(seen).toMatchObject(expectedOutcome(answer));
    });

    it('is assembled, and the same as streamed', () => {
      const { text, ...seen } = replayed([bytes], false);
      const { text: streamed, hasContent: _, ...seenStreamed } = replayed([bytes]);
      if (typeof answer.ending === 'string') {
        const assembled = { ...assemble(readStreamedAnswer(streamed)), usage: expectedUsage(answer) };
        expect(readCompletion(text)).toEqual(assembled);
      } else expect(text).toBe('');
      expect(seen).toMatchObject(seenStreamed);
    });

    it('is the same byte by byte', () => {
      expect(replayed(singleBytes(bytes))).toEqual(replayed([bytes]));
      expect(replayed(singleBytes(bytes), false)).toEqual(replayed([bytes], false));
    });

    it('is the same with other line ends and padded lines', () => {
      const text = bytes.toString();
      const carriageReturns = text.replaceAll(/\r?\n/g, '\r\n');
      const padded = text.replaceAll('\n\n', '   \n\n').replaceAll(/^data: /gm, 'data:');
      expect(replayed([Buffer.from(carriageReturns)])).toEqual(replayed([bytes]));
      expect(replayed([Buffer.from(padded)])).toEqual(replayed([bytes]));
    });

    if (answer.everySplit !== true) return;
    it('is the same wherever it is cut in two', () => {
      const whole = replayed([bytes]);
      for (let at = 1; at < bytes.length; at += 1) {
        expect(replayed([bytes.subarray(0, at), bytes.subarray(at)]), `cut at byte ${at}`).toEqual(whole);
      }
    });
  });
}

/** Events in the providers' framing. */
export function framed(events: readonly ({ readonly type: string } | string)[]): string {
  return events
    .map((event) => (typeof event === 'string' ? event : `event: ${nameOf(event)}\ndata: ${JSON.stringify(event)}\n\n`))
    .join('');
}

/** A damaged event may have a type that is not a string, or can't even be converted to one. */
function nameOf({ type }: { readonly type: unknown }): string {
  return typeof type === 'string' ? type : String(JSON.stringify(type));
}

/**
 * Everything that a client and the caller of the adapter see of an answer that arrives in these
 * pieces.
 */
export function replay(reader: GoldenReader, pieces: readonly Uint8Array[]) {
  const taken: Uint8Array[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    taken.push(reader.take());
  }
  reader.end();
  taken.push(reader.take());
  const { result, hasContent, reportedUsage, producedCharacters, unknownEvents } = reader;
  const failure = result?.kind === 'failed' ? result.failure : undefined;
  return {
    text: Buffer.concat(taken).toString(),
    finished: result?.kind === 'finished',
    failure: failure && { ...failure, error: { code: failure.error.code, message: failure.error.message } },
    hasContent,
    reportedUsage,
    producedCharacters,
    unknownEvents,
  };
}

function expectedStream(answer: AnswerCase) {
  const { deltas, ending } = answer;
  return typeof ending === 'string'
    ? { deltas, finishReason: ending, usage: expectedUsage(answer) }
    : { deltas, finishReason: undefined, usage: undefined };
}

function expectedUsage({ deltas, usage }: AnswerCase) {
  const characters = deltas.reduce((sum, delta) => sum + (delta.kind === 'call' ? 0 : delta.text.length), 0);
  return wholeUsage(usage, characters);
}

function expectedOutcome(answer: AnswerCase) {
  const { deltas, ending, usage, unknownEvents = 0 } = answer;
  const isFinished = typeof ending === 'string';
  return {
    finished: isFinished,
    hasContent: isFinished || deltas.length > 0,
    reportedUsage: usage,
    unknownEvents,
    failure: isFinished ? undefined : expectedFailure(ending),
  };
}

function expectedFailure({ failed, code, retryAtMs, modelScoped = false }: ExpectedFailure) {
  return { result: AttemptResult[failed], retryAtMs, modelScoped, upstreamStatus: 0, error: { code } };
}

function singleBytes(bytes: Buffer): readonly Buffer[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}
