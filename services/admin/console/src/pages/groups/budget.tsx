import { moneyText } from '@gateway/presentation';
import type { GroupListing } from '@gateway/proto/admin/v1/group_service_pb.js';
import type { Budget, BudgetStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import { Status } from '../../ui/status.tsx';
import { DayTime, Time, useNowMs } from '../../ui/time.tsx';
import { Meter } from '../tokens/token-limits.tsx';
import { perPeriod } from './group-draft.ts';

interface GroupBudgetProps {
  readonly listing: GroupListing;
  readonly currency: string;
  readonly detailed?: boolean;
}

/** What a group has spent of its budget, and when that is used up. */
export function GroupBudget({ listing, currency, detailed = false }: GroupBudgetProps) {
  const { group, limits, budgetEndsAtMs } = listing;
  const nowMs = useNowMs();
  const budget = group?.limits?.budget;
  if (budget === undefined) return <span className="faint">None</span>;
  if (limits?.budget === undefined) return <span className="faint">Unknown: the limiter is unreachable</span>;
  const { spentMicros, amountMicros } = limits.budget;
  return (
    <BudgetMeter status={limits.budget} budget={budget} currency={currency} detailed={detailed}>
      {spentMicros >= amountMicros ? (
        <Status tone="bad">Budget spent</Status>
      ) : budgetEndsAtMs !== undefined ? (
        <Status tone={budgetEndsAtMs - nowMs < dayMs ? 'bad' : 'warn'}>
          Budget ends at <Time at={budgetEndsAtMs} toMinute />
        </Status>
      ) : (
        <Status tone="good">Lasts until the period ends</Status>
      )}
    </BudgetMeter>
  );
}

const dayMs = 86_400_000;

interface BudgetMeterProps {
  readonly status: BudgetStatus;
  /** With the period, if it is known. */
  readonly budget?: Budget;
  readonly currency: string;
  /** Also shows what is reserved, and when the budget is renewed. */
  readonly detailed?: boolean;
  readonly children?: React.ReactNode;
}

/** What a budget's period has cost so far. */
export function BudgetMeter({ status, budget, currency, detailed = false, children }: BudgetMeterProps) {
  const { amountMicros, spentMicros, reservedMicros, resetsAtMs } = status;
  return (
    <div className="token-limits">
      <Meter
        what="Spent of the budget"
        unit={`${currency && ` ${currency}`} ${budget === undefined ? 'of the budget' : perPeriod(budget)}`}
        used={spentMicros}
        remaining={Math.max(0, amountMicros - spentMicros)}
        limit={amountMicros}
        format={(micros) => moneyText(micros, '')}
      >
        {detailed && resetsAtMs !== undefined && (
          <>
            renewed at <DayTime at={resetsAtMs} />
          </>
        )}
      </Meter>
      {detailed && reservedMicros > 0 && (
        <p className="faint small">{moneyText(reservedMicros, currency)} reserved by running requests</p>
      )}
      {children !== undefined && <div>{children}</div>}
    </div>
  );
}
