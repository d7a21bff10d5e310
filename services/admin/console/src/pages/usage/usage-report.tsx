import { useInfiniteQuery } from '@connectrpc/connect-query';
import { type UsageRow, UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { UsageGrouping } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { useEffect } from 'react';
import { navigate } from 'wouter/use-browser-location';
import { Panel } from '../../frame/page.tsx';
import { Choice } from '../../ui/choice.tsx';
import { ExportLinks } from '../../ui/export-links.tsx';
import { Answer } from '../../ui/state.tsx';
import { byPages, More } from '../../ui/table.tsx';
import { type Measure, measuresOf } from './measures.ts';
import { UsageChart } from './usage-chart.tsx';
import { exportLink, groups, type UsageQuestion, usageLink } from './usage-question.ts';
import { UsageRows } from './usage-rows.tsx';
import { UsageTotals } from './usage-totals.tsx';

/** The sums of a period, its days as a chart, and its rows. */
export function UsageReport({ question }: { readonly question: UsageQuestion }) {
  const days = useReport(question, UsageGrouping.DAY);
  const rows = useReport(question, groups[question.by].grouping);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = days;
  // Sums cover all days: these are never more than a few pages.
  useEffect(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <Answer of={days} what="usage">
      {({ pages }) => {
        const currency = pages[0]?.currency ?? '';
        const byDay = pages.flatMap((page) => page.rows);
        const measures = measuresOf(currency);
        const measure = measures[question.measure] ?? measures.tokens;
        if (measure === undefined) return null;
        return (
          <>
            <UsageTotals question={question} rows={byDay} currency={currency} />
            <ChartPanel question={question} rows={byDay} measures={measures} measure={measure} />
            <Panel
              title={`By ${groups[question.by].label.toLowerCase()}`}
              aside={
                <>
                  Export all as <ExportLinks to={(format) => exportLink(question, format)} />
                  {currency !== '' && question.group === '' && (
                    <>
                      , or{' '}
                      <a href={exportLink(question, 'focus')} download>
                        charges (FOCUS)
                      </a>
                    </>
                  )}
                </>
              }
              wide
            >
              <Answer of={rows} what="rows">
                {(answer) => (
                  <>
                    <UsageRows
                      question={question}
                      rows={answer.pages.flatMap((page) => page.rows)}
                      measure={measure}
                      currency={currency}
                    />
                    <More of={rows} />
                  </>
                )}
              </Answer>
            </Panel>
          </>
        );
      }}
    </Answer>
  );
}

function useReport(asked: UsageQuestion, grouping: UsageGrouping) {
  const { firstDay, lastDay, token, model, account, group, compare } = asked;
  const only = { tokenId: token, model, accountId: account, groupId: group };
  const question = { firstDay, lastDay, grouping, ...only, compare, pageToken: '' };
  return useInfiniteQuery(UsageService.method.reportUsage, question, {
    ...byPages,
    refetchInterval: 30_000,
    placeholderData: (before) => before,
  });
}

interface ChartPanelProps {
  readonly question: UsageQuestion;
  readonly rows: readonly UsageRow[];
  readonly measures: ReturnType<typeof measuresOf>;
  readonly measure: Measure;
}

function ChartPanel({ question, rows, measures, measure }: ChartPanelProps) {
  const options = Object.entries(measures).map(([value, { label }]) => ({
    value: value as UsageQuestion['measure'],
    label,
  }));
  const choice = (
    <Choice
      label="Measure"
      options={options}
      value={question.measure}
      onValue={(next) => navigate(usageLink({ ...question, measure: next }))}
    />
  );
  return (
    <Panel title={`${measure.label} by day`} aside={choice} wide>
      <UsageChart period={question} rows={rows} measure={measure} compare={question.compare} />
    </Panel>
  );
}
