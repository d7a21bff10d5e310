import { readTokenCount } from '@gateway/chat';
import { asObject } from '@gateway/json';

/** Undefined: not reported. NaN: reported, but not a valid token count. */
export type Count = number | undefined;

/** Input excludes cached tokens; output includes thinking. */
export type Counts = InputCounts & Readonly<Record<'output' | 'thinking', Count>>;
/** `hour`: the part of the cache creation that is for an hour. */
type InputCounts = Readonly<Record<'input' | 'cacheCreation' | 'hour' | 'cacheRead', Count>>;

export function countsIn(value: unknown): Counts {
  const usage = asObject(value) ?? {};
  const byLifetime = asObject(usage.cache_creation);
  const [fiveMinutes, hour] = [
    readCount(byLifetime?.ephemeral_5m_input_tokens),
    readCount(byLifetime?.ephemeral_1h_input_tokens),
  ];
  const ofBoth = fiveMinutes === undefined && hour === undefined ? undefined : (fiveMinutes ?? 0) + (hour ?? 0);
  return {
    input: readCount(usage.input_tokens),
    cacheCreation: readCount(usage.cache_creation_input_tokens) ?? ofBoth,
    hour,
    cacheRead: readCount(usage.cache_read_input_tokens),
    output: readCount(usage.output_tokens),
    thinking: readCount(asObject(usage.output_tokens_details)?.thinking_tokens),
  };
}

/** Counts are totals: one that is lower than an earlier one, or absent, changes nothing. */
export function countsAfter(known: Counts, report: Counts): Counts {
  return {
    ...inputAfter(known, report),
    output: largestOf(known.output, report.output),
    thinking: largestOf(known.thinking, report.thinking),
  };
}

function readCount(value: unknown): Count {
  return value === undefined || value === null ? undefined : (readTokenCount(value) ?? Number.NaN);
}

/** The larger of the valid counts. */
export function largestOf(known: Count, later: Count): Count {
  return known === undefined || Number.isNaN(known) ? (later ?? known) : Math.max(known, later || 0);
}

/**
 * The parts of the input. A later report may move tokens between parts, for instance when it is the
 * first to report cached ones: only the total must not decrease then. Once the total is known,
 * invalid counts change nothing.
 */
function inputAfter(known: InputCounts, report: InputCounts): InputCounts {
  const total = totalOf(known);
  const later = Number.isNaN(total) ? report : usableOf(report);
  const cached = {
    cacheCreation: largestOf(known.cacheCreation, later.cacheCreation),
    hour: largestOf(known.hour, later.hour),
    cacheRead: largestOf(known.cacheRead, later.cacheRead),
  };
  if (!later.input) return { input: largestOf(known.input, later.input), ...cached };
  const rest = total - (cached.cacheCreation ?? 0) - (cached.cacheRead ?? 0);
  return { input: Math.max(later.input, rest || 0), ...cached };
}

function usableOf({ input, cacheCreation, hour, cacheRead }: InputCounts): InputCounts {
  return {
    input: input || undefined,
    cacheCreation: cacheCreation || undefined,
    hour: hour || undefined,
    cacheRead: cacheRead || undefined,
  };
}

/** NaN when one of the parts is unknown: the rest is not a total. */
export function totalOf({ input = Number.NaN, cacheCreation = 0, cacheRead = 0 }: InputCounts): number {
  return input + cacheCreation + cacheRead;
}
