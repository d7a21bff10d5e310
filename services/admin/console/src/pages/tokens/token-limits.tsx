import { formatCompact, reachedText, usedToday } from '@gateway/presentation';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v1/limit_pb.js';
import { Bar } from '../../ui/status.tsx';
import { Countdown, DayTime } from '../../ui/time.tsx';
import './tokens.css';

interface TokenLimitsProps {
  readonly token: Token;
  /** Undefined if the limiter could not be asked. */
  readonly status: LimitStatus | undefined;
  /** The tokens used today, by the ledger. */
  readonly recordedToday: bigint;
  /** Also shows when the limit has room again. */
  readonly detailed?: boolean;
}

/** The state of a token's limits: the minute's window and the day's budget. */
export function TokenLimits({ token: { limits }, status, recordedToday, detailed = false }: TokenLimitsProps) {
  if (limits?.requestsPerMinute === undefined && limits?.tokensPerDay === undefined)
    return <span className="faint">Unlimited</span>;
  if (status === undefined) return <span className="faint">Unknown: the limiter is unreachable</span>;
  const { requests, tokens } = status;
  return (
    <div className="token-limits">
      {requests !== undefined && (
        <Meter
          what="Requests in the last minute"
          unit="/min"
          remaining={requests.remaining}
          used={requests.limit - requests.remaining}
          limit={requests.limit}
        >
          {detailed && requests.remaining === 0 && requests.nextSlotAt !== undefined && (
            <>
              next slot in <Countdown to={requests.nextSlotAt} />
            </>
          )}
        </Meter>
      )}
      {tokens !== undefined && (
        <Meter
          what="Tokens used today"
          unit=" tokens today"
          remaining={Number(tokens.remaining)}
          used={Number(usedToday(tokens, recordedToday))}
          limit={Number(tokens.limit)}
        >
          {detailed && tokens.resetsAt !== undefined && (
            <>
              resets at <DayTime at={tokens.resetsAt} />
            </>
          )}
        </Meter>
      )}
      {status.degraded && <p className="faint small">Estimated: the limit store is unreachable.</p>}
    </div>
  );
}

interface MeterProps {
  readonly what: string;
  readonly unit: string;
  readonly used: number;
  readonly remaining: number;
  readonly limit: number;
  readonly children: React.ReactNode;
}

function Meter({ what, unit, used, remaining, limit, children }: MeterProps) {
  return (
    <div className="limit">
      <Bar share={limit === 0 ? 1 : Math.min(1, used / limit)} label={what} />
      <span title={what}>
        <span className="nowrap">
          <b>{formatCompact(used)}</b> of {formatCompact(limit)}
          {unit}
        </span>
        {reachedText(remaining)}
      </span>
      {children && <span className="faint limit-note">{children}</span>}
    </div>
  );
}
