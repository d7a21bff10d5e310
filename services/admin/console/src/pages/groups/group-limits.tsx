import { formatCompact, formatMoney } from '@gateway/presentation';
import type { GroupListing } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { BudgetStatus, LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import { Bar } from '../../ui/status.tsx';
import { msOf, Time } from '../../ui/time.tsx';
import '../tokens/tokens.css';

/** The state of a group's limits. Undefined if the limiter could not be asked. */
export function GroupLimits({
  status,
  budgetEndsAt,
  currency,
}: {
  readonly status: LimitStatus | undefined;
  /** When the budget will be used up at the present rate, if before its period ends. */
  readonly budgetEndsAt?: GroupListing['budgetEndsAt'];
  readonly currency: string;
}) {
  if (status === undefined) return <span className="faint">Unknown: the limiter is unreachable</span>;
  const { requests, tokens, concurrency, budget } = status;
  const money = (micros: bigint) => formatMoney(micros, currency);
  return (
    <div className="token-limits">
      {requests !== undefined && (
        <Meter what="Requests in the last minute" used={requests.limit - requests.remaining} limit={requests.limit}>
          requests/min
        </Meter>
      )}
      {tokens !== undefined && (
        <Meter what="Tokens used today" used={Number(tokens.limit - tokens.remaining)} limit={Number(tokens.limit)}>
          tokens today
        </Meter>
      )}
      {concurrency !== undefined && (
        <Meter what="Requests that run now" used={concurrency.running} limit={concurrency.limit}>
          at a time
        </Meter>
      )}
      {budget !== undefined && (
        <Meter
          what="Spent budget"
          used={Number(budget.spentMicros)}
          limit={Number(budget.amountMicros)}
          format={(micros) => money(BigInt(micros))}
        >
          per {periodOf(budget)}
          {budget.reservedMicros > 0n && `, ${money(budget.reservedMicros)} reserved`}
          {budgetEndsAt !== undefined && budget.spentMicros < budget.amountMicros && (
            <>
              , used up at <Time at={budgetEndsAt} />
            </>
          )}
        </Meter>
      )}
    </div>
  );
}

/** A budget lasts one day, the seven of a week, or those of a month. */
function periodOf({ firstDay, resetsAt }: BudgetStatus): string {
  const days = Math.round(((resetsAt === undefined ? 0 : msOf(resetsAt)) - Date.parse(firstDay)) / 86_400_000);
  if (days === 1) return 'day';
  return days === 7 ? 'week' : 'month';
}

interface MeterProps {
  readonly what: string;
  readonly used: number;
  readonly limit: number;
  readonly format?: (count: number) => string;
  readonly children: React.ReactNode;
}

function Meter({ what, used, limit, format = formatCompact, children }: MeterProps) {
  return (
    <div className="limit">
      <Bar share={limit === 0 ? 1 : used / limit} label={what} />
      <span title={what}>
        <b>{format(used)}</b> of {format(limit)} {children}
      </span>
    </div>
  );
}
