import { useQuery } from '@connectrpc/connect-query';
import { formatCount, formatCountOf } from '@gateway/presentation';
import { type GetMyUsageResponse, type UsageRow, UsageService } from '@gateway/proto/admin/v1/usage_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { UsagePeriod } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { useSigned } from '../../api/session.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { Answer } from '../../ui/state.tsx';
import { DayTime, localDayOf, Time } from '../../ui/time.tsx';
import { BudgetMeter } from '../groups/budget.tsx';
import { ForecastLine } from '../pools/forecast-line.tsx';
import { LimitMeters, TokenLimits } from '../tokens/token-limits.tsx';
import { costNote, costText, measuresOf, sumOf, tokensOf } from '../usage/measures.ts';
import { UsageChart } from '../usage/usage-chart.tsx';
import { addDays } from '../usage/usage-period.ts';
import { MyTokens } from './my-tokens.tsx';
import '../usage/usage.css';

/** The usage of the holder's token and the rest of its limits, or a person's usage and tokens. */
export function MyUsagePage() {
  const isPerson = useSigned().session.holder.case === 'person';
  const usage = useQuery(UsageService.method.getMyUsage, {}, { refetchInterval: 10_000 });
  return (
    <Page
      title="My usage"
      about={`${isPerson ? 'What you have used, with all of your clients' : 'What your token has used and what it has left'}. Days are calendar days in Europe/Amsterdam.`}
    >
      <Answer of={usage} what="your usage">
        {(answer) => <MyUsage {...answer} />}
      </Answer>
      {isPerson && (
        <div className="panels">
          <MyTokens />
        </div>
      )}
    </Page>
  );
}

function MyUsage(usage: GetMyUsageResponse) {
  const { token, limits, today, lastSevenDays, days, currency } = usage;
  return (
    <div className="panels">
      {token !== undefined && (
        <Panel title="Limits now" aside={token.kind === TokenKind.PERSONAL ? `${token.label}, personal` : token.label}>
          <TokenLimits token={token} status={limits} recordedToday={tokensOf(today?.totals)} detailed />
          {token.expiresAtMs !== undefined && (
            <p>
              Your token expires at <Time at={token.expiresAtMs} />.
            </p>
          )}
        </Panel>
      )}
      <GroupPanel {...usage} />
      <ForecastPanel {...usage} />
      <PeriodPanel title="Today" period={today} />
      <PeriodPanel title="Last 7 days" period={lastSevenDays} />
      <Month days={days} currency={currency} />
    </div>
  );
}

/** The room that all tokens of the group share. */
function GroupPanel({ groupName, groupLimits, currency }: GetMyUsageResponse) {
  if (groupName === '') return null;
  return (
    <Panel title="Limits of your group" aside={groupName}>
      {groupLimits === undefined && <p className="faint">None, or the limiter is unreachable.</p>}
      {groupLimits?.budget !== undefined && <BudgetMeter status={groupLimits.budget} currency={currency} detailed />}
      {groupLimits !== undefined && <LimitMeters status={groupLimits} recordedToday={0} detailed />}
    </Panel>
  );
}

/** How long the accounts last that the token may use. */
function ForecastPanel({ forecasts }: GetMyUsageResponse) {
  const pools = [...Map.groupBy(forecasts, ({ pool }) => pool)];
  if (pools.length === 0) return null;
  return (
    <Panel title="How long quotas last">
      {pools.map(([pool, own]) => (
        <section key={pool} aria-label={pool}>
          <h3>{pool}</h3>
          <ul className="forecasts">
            {own.map((forecast) => (
              <ForecastLine key={forecast.models} forecast={forecast} />
            ))}
          </ul>
        </section>
      ))}
    </Panel>
  );
}

function Month({ days, currency }: { readonly days: readonly UsageRow[]; readonly currency: string }) {
  const lastDay = localDayOf(Date.now());
  const measure = measuresOf(currency).tokens;
  const sums = sumOf(days);
  const note = costNote(sums, currency);
  if (measure === undefined) return null;
  return (
    <Panel
      title="Tokens, last 30 days"
      aside={currency === '' ? undefined : `Cost: ${costText(sums, currency)}${note === undefined ? '' : ` (${note})`}`}
      wide
    >
      <UsageChart period={{ firstDay: addDays(lastDay, -29), lastDay }} rows={days} measure={measure} compare={false} />
    </Panel>
  );
}

function PeriodPanel({ title, period }: { readonly title: string; readonly period: UsagePeriod | undefined }) {
  const totals = period?.totals;
  return (
    <Panel
      title={title}
      aside={
        period !== undefined && (
          <>
            since <DayTime at={period.sinceMs} />
          </>
        )
      }
    >
      <p className="figure">{formatCountOf(tokensOf(totals), 'token')}</p>
      <p className="faint">
        {formatCountOf(totals?.requests ?? 0, 'request')}, {formatCount(totals?.inputTokens ?? 0)} in (
        {formatCount(totals?.cachedTokens ?? 0)} cached), {formatCount(totals?.outputTokens ?? 0)} out
      </p>
      <dl className="facts block">
        {period?.byModel.map(({ provider, model, totals: own }) => (
          <Fact key={`${provider} ${model}`} name={model}>
            {formatCountOf(tokensOf(own), 'token')}, {formatCountOf(own?.requests ?? 0, 'request')}
          </Fact>
        ))}
      </dl>
    </Panel>
  );
}
