import type { AnswerReader } from '@gateway/adapter-kit';
import type { ReportedUsage } from '@gateway/chat';
import { asObject, parseJson } from '@gateway/json';
import { readEvent } from '@gateway/sse';
import { describe, expect, it } from 'vitest';
import type { GoldenReader, OpenReader } from './golden-answer.ts';
import { eventsOf, isObject, type Rewriting, rewritingsOf } from './rewritten-stream.ts';

/** A provider's answer, whatever it ends in. */
export interface RecordedAnswer {
  readonly name: string;
  readonly stream: Buffer;
  readonly wantsJson?: true | undefined;
}

/** How the adapter of a format reads its answers, and what their events mean. */
export interface CutFormat {
  readonly openReader: OpenReader;
  readonly openRelay: () => AnswerReader;
  /** An event without content, which providers send at any time. */
  readonly ping: string;
  /** Types of the events after which an answer may be complete. */
  readonly ends: readonly string[];
  /** Types of the events that report a failure. */
  readonly failures: readonly string[];
  /** True for answers whose relay differs from what the provider sent. */
  readonly isChanged?: (stream: Buffer) => boolean;
}

/**
 * Tests that an answer is the same to a client in whatever bytes its events arrive, and that an
 * answer that breaks off is never given as a whole one: streamed, assembled and relayed.
 */
export function describeCutAnswers(answers: readonly RecordedAnswer[], format: CutFormat): void {
  const lastTypes = [...format.ends, ...format.failures];
  const rewritings = Object.entries(rewritingsOf(format.ping, (event) => hasType(event, lastTypes)));
  const { relayed, ...translated } = viewsOf(format);

  describe.each(Object.entries(translated))('a translated answer, %s', (_view, read) => {
    it.each(rewritings)('is the same with %s, whole and in pieces', (_what, { rewrite }) => {
      for (const answer of answers) {
        const whole = read(answer, [answer.stream]);
        const rewritten = rewrite(answer.stream);
        expect(read(answer, [rewritten]), answer.name).toEqual(whole);
        expect(read(answer, piecesOf(rewritten)), answer.name).toEqual(whole);
      }
    });

    it('breaks off where its provider does, and never looks whole', () => {
      for (const answer of answers) {
        for (const { text, finished, where } of expectBeginnings(read, answer, format)) {
          expect(endsLikeChat(text), where).toBe(finished);
        }
      }
    });
  });

  describe('a relayed answer', () => {
    it.each(rewritings)('has every byte with %s, whole and in pieces', (_what, { rewrite, plain }) => {
      for (const answer of answers) expectRelayed(relayed, answer, { rewrite, plain });
    });

    it('breaks off where its provider does, and never looks whole', () => {
      for (const answer of answers) {
        const sent = answer.stream.toString('latin1');
        for (const { text, where } of expectBeginnings(relayed, answer, format)) {
          if (format.isChanged?.(answer.stream) !== true) expect(sent.slice(0, text.length), where).toBe(text);
        }
      }
    });

    it('is what the provider sent, byte by byte', () => {
      for (const answer of answers) {
        expect(relayed(answer, singleBytes(answer.stream)), answer.name).toEqual(relayed(answer, [answer.stream]));
      }
    });

    it('has the usage that its translation has, if both are whole', () => {
      for (const answer of answers) {
        const [relay, translation] = [relayed, translated.streamed].map((read) => read(answer, [answer.stream]));
        if (relay?.finished && translation?.finished) expect(relay.usage, answer.name).toEqual(translation.usage);
      }
    });
  });
}

/** What a client and the caller of the adapter see of an answer. */
interface Seen {
  /** The client's bytes, each as a character. */
  readonly text: string;
  readonly finished: boolean;
  readonly hasContent: boolean;
  readonly usage: ReportedUsage | undefined;
  readonly producedCharacters: number;
  readonly failed: unknown;
}

type View = (answer: RecordedAnswer, pieces: readonly Uint8Array[]) => Seen;

function viewsOf({ openReader, openRelay }: CutFormat) {
  const opened =
    (stream: boolean): View =>
    ({ wantsJson = false }, pieces) =>
      read(openReader({ stream, wantsJson }), pieces);
  return {
    streamed: opened(true),
    assembled: opened(false),
    relayed: ((_answer, pieces) => read(openRelay(), pieces)) satisfies View,
  };
}

function read(reader: AnswerReader | GoldenReader, pieces: readonly Uint8Array[]): Seen {
  const taken: Uint8Array[] = [];
  for (const piece of pieces) {
    reader.push(piece);
    taken.push(reader.take());
  }
  reader.end();
  taken.push(reader.take());
  const { result, hasContent, reportedUsage: usage, producedCharacters } = reader;
  const failure = result?.kind === 'failed' ? result.failure : undefined;
  return {
    text: Buffer.concat(taken).toString('latin1'),
    finished: result?.kind === 'finished',
    hasContent,
    usage,
    producedCharacters,
    failed: failure && [failure.result, failure.error.code, failure.retryAtMs],
  };
}

function expectRelayed(relayed: View, answer: RecordedAnswer, { rewrite, plain }: Rewriting): void {
  const whole = relayed(answer, [answer.stream]);
  const rewritten = rewrite(answer.stream);
  const seen = relayed(answer, [rewritten]);
  const expected = rewrite(Buffer.from(whole.text, 'latin1')).toString('latin1');
  expect(seen.text.slice(0, expected.length), answer.name).toBe(expected);
  expect(plain(seen.text.slice(expected.length)), answer.name).toBe('');
  expect({ ...seen, text: '' }, answer.name).toEqual({ ...whole, text: '' });
  expect(relayed(answer, piecesOf(rewritten)), answer.name).toEqual(seen);
}

/** Breaks the answer off in many places, and returns what was seen of each beginning. */
function expectBeginnings(view: View, answer: RecordedAnswer, { ends }: CutFormat) {
  const whole = view(answer, [answer.stream]);
  const beginnings: (Seen & { readonly where: string })[] = [];
  for (const end of placesIn(answer.stream)) {
    const beginning = answer.stream.subarray(0, end);
    const seen = view(answer, [beginning]);
    const where = `${answer.name}, broken off at byte ${end}`;
    const hasEnd = isObject(answer.stream)
      ? parseJson(beginning.toString().trim()) !== undefined
      : eventsOf(beginning).some((event) => hasType(event, ends));
    expect(whole.text.slice(0, seen.text.length), where).toBe(seen.text);
    expect(seen.finished, where).toBe(hasEnd && whole.finished);
    expect(seen.failed === undefined, where).toBe(seen.finished);
    if (seen.finished) expect(seen, where).toEqual({ ...whole, text: seen.text });
    expectNoLess(seen, beginnings.at(-1), where);
    beginnings.push({ ...seen, where });
  }
  return beginnings;
}

/** Counts are totals: those of a longer beginning are no lower, if they are known. */
function expectNoLess(seen: Seen, before: Seen | undefined, where: string): void {
  for (const name of ['inputTokens', 'cachedTokens', 'outputTokens', 'reasoningTokens'] as const) {
    const [count = Number.POSITIVE_INFINITY, countBefore = 0] = [seen.usage?.[name], before?.usage?.[name]];
    expect(count, `${name} of ${where}`).toBeGreaterThanOrEqual(countBefore);
  }
  expect(seen.producedCharacters, where).toBeGreaterThanOrEqual(before?.producedCharacters ?? 0);
}

function endsLikeChat(text: string): boolean {
  return text.includes('"finish_reason":"') || text.endsWith('data: [DONE]\n\n');
}

/**
 * Every place in a stream; in the short form some dozens, around the ends of its events, but all
 * for an object in the place of a stream.
 */
function placesIn(stream: Buffer): readonly number[] {
  const isEvery = process.env.FAULTS === 'long' || isObject(stream);
  if (isEvery && stream.length < 8_192) return Array.from({ length: stream.length + 1 }, (_, at) => at);
  const places = new Set<number>([0]);
  let start = 0;
  for (const { length } of eventsOf(stream)) {
    const end = start + length;
    for (const at of [start + (length >> 1), end - 1, end]) places.add(at);
    start = end;
  }
  const step = Math.ceil(places.size / 48);
  return [...places].filter((at, index) => index % step === 0 || at > stream.length - 400).toSorted((a, b) => a - b);
}

function hasType(bytes: Buffer, types: readonly string[]): boolean {
  const { name, data = '' } = readEvent(bytes);
  const json = asObject(parseJson(data));
  return json !== undefined && [json.type, name.trim()].some((type) => types.some((known) => known === type));
}

/** Single bytes; in the short form, pieces that are cut around each line end. */
function piecesOf(bytes: Buffer): readonly Buffer[] {
  if (process.env.FAULTS === 'long') return singleBytes(bytes);
  const text = bytes.toString('latin1');
  const cuts = [...text.matchAll(/[\r\n]/g)].flatMap(({ index }) => [index, index + 1]);
  return [0, ...cuts].map((cut, at) => bytes.subarray(cut, cuts[at] ?? bytes.length));
}

function singleBytes(bytes: Buffer): readonly Buffer[] {
  return Array.from(bytes, (_, at) => bytes.subarray(at, at + 1));
}
