import { type FinishReason, type ReportedUsage, wholeUsage } from '@gateway/chat';
import { assemble, type Delta, type StreamedAnswer } from '@gateway/testkit/adapters';
import fc from 'fast-check';
import { arbitraryBlock, type BlockStep } from './arbitrary-blocks.ts';
import { type Events, messageDelta, oddEvent, ping, type StopReason, start, stop } from './provider-events.ts';

/** A valid Messages stream and its expected result for a client. */
export interface ExpectedStream {
  /** Frames to be concatenated. */
  readonly frames: readonly string[];
  readonly expected: StreamedAnswer;
  readonly reportedUsage: ReportedUsage;
  /** The arguments of each call as the provider intended them. */
  readonly callArguments: readonly string[];
  readonly unknownEvents: number;
}

const stopReasons = [
  ...(['end_turn', 'tool_use', 'stop_sequence', 'pause_turn', null] as const),
  ...(['max_tokens', 'model_context_window_exceeded', 'refusal'] as const),
] satisfies readonly (StopReason | null)[];

/**
 * Any valid stream: blocks in a row or interleaved, with pings, comments and unknown events in
 * between.
 */
export const arbitraryStream: fc.Arbitrary<ExpectedStream> = fc
  .record({
    blocks: fc.array(arbitraryBlock, { maxLength: 6 }),
    firstIndex: fc.nat(2),
    schedule: fc.option(fc.array(fc.nat(), { maxLength: 60 })),
    first: arbitraryReport(fc.nat(100_000), fc.integer({ min: 1, max: 100_000 })),
    later: fc.array(arbitraryReport(fc.option(fc.nat(100_000)), fc.nat(100_000)), { minLength: 1, maxLength: 3 }),
    stopReason: fc.constantFrom(...stopReasons),
    noise: fc.array(fc.tuple(fc.nat(), arbitraryNoise()), { maxLength: 8 }),
    isAscii: fc.boolean(),
  })
  .map(({ blocks, firstIndex, schedule, first, later, stopReason, noise, isAscii }) => {
    const steps = interleaved(
      blocks.map((block, at) => block(firstIndex + at)),
      schedule,
    );
    const events: Events = [
      start(first),
      ...steps.map(({ event }) => event),
      ...later.map((report, at) => messageDelta(at === later.length - 1 ? stopReason : null, report)),
      stop,
    ];
    const frames = events.map((event) => (typeof event === 'string' ? event : oddEvent({ ...event })));
    const noisy = withNoise(isAscii ? frames.map(toAscii) : frames, noise);
    const finishReason = finishReasonOf(stopReason, steps);
    const { deltas, callArguments } = shown(steps, finishReason);
    const reportedUsage = usageOf([first, ...later]);
    return {
      frames: noisy,
      expected: { deltas, finishReason, usage: wholeUsage(reportedUsage, 1) },
      reportedUsage,
      callArguments,
      unknownEvents:
        steps.filter((step) => step.isUnknown).length + noise.filter(([, { isUnknown }]) => isUnknown).length,
    };
  });

/** The result of such a stream for a client that requested one object. */
export function expectedCompletion({ expected, callArguments }: ExpectedStream) {
  const { toolCalls, ...rest } = assemble(expected);
  return { ...rest, toolCalls: toolCalls.map((call, at) => ({ ...call, arguments: callArguments[at] })) };
}

type Report = NonNullable<Parameters<typeof messageDelta>[1]>;

/** The content determines the reason, unless the answer was cut. */
function finishReasonOf(stopReason: StopReason | null, steps: readonly BlockStep[]): FinishReason {
  if (stopReason === 'max_tokens' || stopReason === 'model_context_window_exceeded') return 'length';
  if (stopReason === 'refusal') return 'content_filter';
  return steps.some(({ shows }) => shows?.kind === 'call') ? 'tool_calls' : 'stop';
}

/** The usage in one event. A null count repeats the previous one. */
function arbitraryReport<Count>(inputTokens: fc.Arbitrary<Count>, outputTokens: fc.Arbitrary<number>) {
  const count = fc.option(fc.nat(100_000));
  return fc.record({
    input_tokens: inputTokens,
    cache_creation_input_tokens: count,
    cache_read_input_tokens: count,
    output_tokens: outputTokens,
    output_tokens_details: fc.option(fc.record({ thinking_tokens: fc.nat(200_000) })),
  });
}

/**
 * Counts are totals: a zero, or a smaller count, changes nothing. Input that is reported together
 * with cached tokens may have moved to them.
 */
function usageOf(reports: readonly Report[]): ReportedUsage {
  const largest = (counts: readonly (number | null | undefined)[]) => Math.max(0, ...counts.map((count) => count ?? 0));
  let [input, created, read] = [0, 0, 0];
  for (const report of reports) {
    const fresh = report.input_tokens || input - created - read;
    created = largest([created, report.cache_creation_input_tokens]);
    read = largest([read, report.cache_read_input_tokens]);
    input = Math.max(input, fresh + created + read);
  }
  const outputTokens = largest(reports.map(({ output_tokens }) => output_tokens));
  const thinking = largest(reports.map((report) => report.output_tokens_details?.thinking_tokens));
  const reasoningTokens = Math.min(thinking, outputTokens);
  return { inputTokens: input || undefined, cachedTokens: read, outputTokens, reasoningTokens };
}

/**
 * The blocks' steps one after the other, or interleaved by the schedule; each block's own steps
 * stay in order.
 */
function interleaved(
  blocks: readonly (readonly BlockStep[])[],
  schedule: readonly number[] | null,
): readonly BlockStep[] {
  const waiting = blocks.map((steps) => [...steps]);
  const mixed: BlockStep[] = [];
  for (const turn of schedule ?? []) {
    const unfinished = waiting.filter((steps) => steps.length > 0);
    const step = unfinished[turn % unfinished.length]?.shift();
    if (step !== undefined) mixed.push(step);
  }
  return [...mixed, ...waiting.flat()];
}

/**
 * The content of the steps for a client, with calls numbered as they start. A call without
 * arguments gets an empty object as soon as it is certain that it was not cut: when a block starts
 * after its end, or at the end of a complete answer.
 */
function shown(steps: readonly BlockStep[], finishReason: FinishReason) {
  const indexes = new Map<number, number>();
  const begun = new Set<number>();
  const callArguments: string[] = [];
  let ended: number[] = [];
  const fill = (): readonly Delta[] => {
    const filled = ended;
    ended = [];
    return filled.map((index) => {
      callArguments[index] = '{}';
      return { kind: 'arguments', index, text: '{}' };
    });
  };
  const deltas = steps.flatMap(({ block, shows }): readonly Delta[] => {
    const before = begun.has(block) ? [] : fill();
    begun.add(block);
    if (shows === undefined) return before;
    const index = indexes.get(block) ?? -1;
    if (shows.kind === 'none') ended.push(index);
    if (shows.kind === 'text' && shows.text !== '') return [...before, shows];
    if (shows.kind === 'arguments' && shows.text !== '') return [{ kind: 'arguments', index, text: shows.text }];
    if (shows.kind !== 'call') return before;
    indexes.set(block, callArguments.push(shows.arguments) - 1);
    return [...before, { kind: 'call', index: callArguments.length - 1, id: shows.id, name: shows.name }];
  });
  ended.sort((a, b) => a - b);
  const isWhole = finishReason === 'stop' || finishReason === 'tool_calls';
  return { deltas: isWhole ? [...deltas, ...fill()] : deltas, callArguments };
}

interface Noise {
  readonly frame: string;
  readonly isUnknown: boolean;
}

function arbitraryNoise(): fc.Arbitrary<Noise> {
  return fc.oneof(
    fc
      .constantFrom(ping, ': comment\n\n', '\n', 'event: ping\ndata:\n\n', 'data: [DONE]\n\n', 'retry: 1\n\n')
      .map((frame) => ({
        frame,
        isUnknown: false,
      })),
    fc.jsonValue().map((novelty) => ({ frame: oddEvent({ type: 'novelty', novelty }), isUnknown: true })),
  );
}

/** Adds noise anywhere except after the end, where nothing is read any more. */
function withNoise(frames: readonly string[], noise: readonly (readonly [number, Noise])[]): readonly string[] {
  const noisy = [...frames];
  for (const [place, { frame }] of noise) noisy.splice(place % noisy.length, 0, frame);
  return noisy;
}

/** The same JSON with escapes for all characters outside ASCII. */
function toAscii(frame: string): string {
  return frame.replaceAll(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
