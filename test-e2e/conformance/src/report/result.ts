import type { Check, Level } from '../check.ts';
import type { Endpoint } from '../target/endpoints.ts';
import type { Exchange } from '../target/evidence.ts';

export type Outcome =
  | { readonly kind: 'kept' }
  /** The expected and the actual result, with all requests and answers. */
  | { readonly kind: 'broken'; readonly found: string; readonly exchanges: readonly Exchange[] }
  | { readonly kind: 'skipped'; readonly why: string };

export interface Result {
  readonly check: Check;
  readonly outcome: Outcome;
  readonly milliseconds: number;
}

/** How many rules of one level a gateway keeps on one endpoint. */
export interface SummaryRow extends Readonly<Record<Outcome['kind'], number>> {
  readonly endpoint: Group;
  readonly level: Level;
}

/** `http`: rules that are the same for all paths. */
type Group = Endpoint | 'http';

const groups: readonly Group[] = ['chat', 'messages', 'count-tokens', 'responses', 'models', 'usage', 'http'];
export const levels: readonly Level[] = ['formats', 'operations', 'specification'];

/** A row for each endpoint and level that was checked, in the order of reports. */
export function summaryOf(results: readonly Result[]): readonly SummaryRow[] {
  return grouped(results).map(({ endpoint, level, results: ofRow }) => {
    const count = (kind: Outcome['kind']) => ofRow.filter(({ outcome }) => outcome.kind === kind).length;
    return { endpoint, level, kept: count('kept'), broken: count('broken'), skipped: count('skipped') };
  });
}

/**
 * The results of each endpoint and level. A check of several endpoints is counted with its first.
 */
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

/** Sent lines begin with `>`, received lines with `<`. */
export function exchangeLines({ request, answer }: Exchange): readonly string[] {
  const status = answer.status === undefined ? 'no answer' : String(answer.status);
  return [
    ...[request.line, ...headerLines(request.headers), ...bodyLines(request.body)].map((line) => `> ${line}`),
    ...[status, ...headerLines(answer.headers), ...bodyLines(answer.body)].map((line) => `< ${line}`),
  ];
}

function headerLines(headers: Readonly<Record<string, string>>): readonly string[] {
  return Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
}

function bodyLines(body: string): readonly string[] {
  return body === '' ? [] : ['', ...body.trimEnd().split('\n')];
}
