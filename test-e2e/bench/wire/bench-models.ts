/**
 * The pace of the provider double's answer. It is in the model's name, which every gateway
 * forwards.
 */
export const paces = ['short', 'fast', 'paced', 'slow'] as const;

/**
 * `short`: an answer of about 1 KB, all at once. `fast`: 200 events, each written by itself, in a
 * turn of its own. `paced`: 200 events, 50 a second. `slow`: one event a second, without end.
 */
export type Pace = (typeof paces)[number];

export type BenchFormat = 'responses' | 'messages';

export const providerFormats: readonly BenchFormat[] = ['responses', 'messages'];

export const eventsOfStream = 200;
export const msBetweenPacedEvents = 20;
export const msBetweenSlowEvents = 1_000;

/** The model as the provider lists it. */
export function modelOf(format: BenchFormat, pace: Pace): string {
  return `${format === 'responses' ? 'gpt' : 'claude'}-bench-${pace}`;
}

/** The pace that a request asks for, wherever its model is. */
export function paceIn(body: Buffer): Pace {
  return paces.find((pace) => body.includes(`-bench-${pace}"`)) ?? 'short';
}
