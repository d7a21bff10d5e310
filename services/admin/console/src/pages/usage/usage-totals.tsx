import { formatCount } from '@gateway/presentation';
import type { UsageRow } from '@gateway/proto/admin/v1/usage_service_pb.js';
import type { ReactNode } from 'react';
import { changeText, costNote, costText, sumOf } from './measures.ts';
import type { UsageQuestion } from './usage-question.ts';

interface UsageTotalsProps {
  readonly question: UsageQuestion;
  readonly rows: readonly UsageRow[];
  readonly currency: string;
}

/** The sums of a period, beside those of the one before. */
export function UsageTotals({ question: { compare }, rows, currency }: UsageTotalsProps) {
  const [now, before] = [sumOf(rows), sumOf(rows, 'before')];
  const figure = (
    label: string,
    pick: (sums: typeof now) => number,
    format: (value: number) => string,
    more?: ReactNode,
  ) => (
    <div>
      <dt>{label}</dt>
      <dd className="figure">{format(pick(now))}</dd>
      {compare && (
        <dd className="faint">
          {changeText(pick(now), pick(before))}, was {format(pick(before))}
        </dd>
      )}
      {more !== undefined && <dd className="faint">{more}</dd>}
    </div>
  );
  const cached = now.cachedTokens > 0 && `${formatCount(now.cachedTokens)} cached`;
  const written = now.cacheWriteTokens > 0 && `${formatCount(now.cacheWriteTokens)} written to a cache`;
  const ofInput = [cached, written].filter((text) => text !== false).join(', ');
  return (
    <section className="panel" aria-label="Totals of the period">
      <dl className="totals">
        {figure('Requests', ({ requests }) => requests, formatCount)}
        {figure('Input tokens', ({ inputTokens }) => inputTokens, formatCount, ofInput || undefined)}
        {figure('Output tokens', ({ outputTokens }) => outputTokens, formatCount)}
        {currency === '' ? (
          <div>
            <dt>Cost</dt>
            <dd className="faint">
              No prices. Set them in gateway.yaml, under <code>prices</code>.
            </dd>
          </div>
        ) : (
          figure(
            'Cost',
            ({ costMicros }) => costMicros,
            (costMicros) => costText({ ...now, costMicros }, currency),
            costNote(now, currency),
          )
        )}
      </dl>
    </section>
  );
}
