import type { Level } from '../check.ts';
import type { Endpoint } from '../target/gateway-client.ts';
import type { Outcome, Result } from './result.ts';

/** How many rules of one level a gateway keeps on one endpoint. */
export interface SummaryRow extends Readonly<Record<Outcome['kind'], number>> {
  readonly endpoint: Group;
  readonly level: Level;
}

/** `http`: what is the same for all paths. */
export type Group = Endpoint | 'http';

const groups: readonly Group[] = ['chat', 'messages', 'count-tokens', 'responses', 'models', 'usage', 'http'];
export const levels: readonly Level[] = ['formats', 'operations', 'specification'];

/** A row for each endpoint and level that was tried, in the order of reports. */
export function summaryOf(results: readonly Result[]): readonly SummaryRow[] {
  return grouped(results).map(({ endpoint, level, results: ofRow }) => {
    const count = (kind: Outcome['kind']) => ofRow.filter(({ outcome }) => outcome.kind === kind).length;
    return { endpoint, level, kept: count('kept'), broken: count('broken'), skipped: count('skipped') };
  });
}

/** The results of each endpoint and level. A check of several endpoints is counted with its first. */
export function grouped(results: readonly Result[]) {
  return groups.flatMap((endpoint) =>
    levels.flatMap((level) => {
      const ofGroup = results.filter(
        ({ check }) => (check.endpoints[0] ?? 'http') === endpoint && check.level === level,
      );
      return ofGroup.length === 0 ? [] : [{ endpoint, level, results: ofGroup }];
    }),
  );
}
