import { type DailySum, keyOf } from '../recording/daily-sums.ts';

/** A daily sum that is not what its events add up to. One that is missing counts as nothing. */
export interface Difference {
  readonly recorded: DailySum;
  readonly counted: DailySum;
}

/** Where recorded sums differ from counted ones, in the order of their key. */
export function differencesOf(recorded: readonly DailySum[], counted: readonly DailySum[]): readonly Difference[] {
  const recordedByKey = new Map(recorded.map((sum) => [keyOf(sum), sum]));
  const countedByKey = new Map(counted.map((sum) => [keyOf(sum), sum]));
  const keys = [...new Set([...recordedByKey.keys(), ...countedByKey.keys()])].sort();
  return keys.flatMap((key) => {
    const [ofRecord, ofCount] = [recordedByKey.get(key), countedByKey.get(key)];
    const known = ofRecord ?? ofCount;
    if (known === undefined) return [];
    const difference = { recorded: ofRecord ?? nothingOf(known), counted: ofCount ?? nothingOf(known) };
    return isEqual(difference) ? [] : [difference];
  });
}

/** What has to be added to the recorded sum. */
export function correctionOf({ recorded, counted }: Difference): DailySum {
  return {
    ...recorded,
    requests: counted.requests - recorded.requests,
    input_tokens: counted.input_tokens - recorded.input_tokens,
    cached_tokens: counted.cached_tokens - recorded.cached_tokens,
    output_tokens: counted.output_tokens - recorded.output_tokens,
  };
}

function nothingOf(sum: DailySum): DailySum {
  return { ...sum, requests: 0, input_tokens: 0, cached_tokens: 0, output_tokens: 0 };
}

function isEqual(difference: Difference): boolean {
  const { requests, input_tokens, cached_tokens, output_tokens } = correctionOf(difference);
  return [requests, input_tokens, cached_tokens, output_tokens].every((amount) => amount === 0);
}
