import { type Difference, differencesBetween } from './compare.ts';
import { type ShadowRequest, withModel } from './requests.ts';
import { type Answer, type NoAnswer, type SendOptions, type Side, send } from './send.ts';

export interface ShadowResult {
  readonly request: ShadowRequest;
  readonly from: Answer | NoAnswer;
  readonly to: Answer | NoAnswer;
  readonly differences: readonly Difference[];
}

export interface ShadowOptions extends SendOptions {
  readonly from: Side;
  readonly to: Side;
  /** Names of models at `to`, by their names in the recording. */
  readonly models: ReadonlyMap<string, string>;
  /** The most requests at a time, each to both gateways. */
  readonly concurrency: number;
  readonly ignored: ReadonlySet<string>;
}

/**
 * Sends each request to both gateways at the same time, and compares the answers. When `signal`
 * aborts, requests that have not begun are left out.
 */
export async function runShadow(
  requests: readonly ShadowRequest[],
  options: ShadowOptions,
): Promise<readonly ShadowResult[]> {
  const results = new Map<number, ShadowResult>();
  const waiting = requests.entries();
  const work = async () => {
    for (const [index, request] of waiting) {
      if (options.signal.aborted) return;
      const [from, to] = await Promise.all([
        send(request, options.from, options),
        send(withModel(request, options.models), options.to, options),
      ]);
      results.set(index, { request, from, to, differences: differencesBetween(from, to, options.ignored) });
    }
  };
  await Promise.all(Array.from({ length: options.concurrency }, work));
  return [...results].toSorted(([one], [other]) => one - other).map(([, result]) => result);
}

/** Whether something differs that nothing explains. */
export function differs({ differences }: ShadowResult): boolean {
  return differences.some(({ explanation }) => explanation === undefined);
}
