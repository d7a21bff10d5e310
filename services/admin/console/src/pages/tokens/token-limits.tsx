import { formatCompact, reachedText, usedToday } from '@gateway/presentation';
import type { Group, Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import type { LimitStatus } from '@gateway/proto/limiter/v2/limit_pb.js';
import { Bar } from '../../ui/status.tsx';
import { Countdown, DayTime } from '../../ui/time.tsx';
import './tokens.css';

interface TokenLimitsProps {
  /** The token, or the group, whose limits these are. */
  readonly token: Pick<Token | Group, 'limits'>;
  /** Undefined if the limiter could not be asked. */
  readonly status: LimitStatus | undefined;
  /** The tokens used today, by the ledger. */
  readonly recordedToday: number;
  /** Also shows when the limit has room again. */
  readonly detailed?: boolean;
}

/** The state of a token's limits: the minute's window, the day, and requests at a time. */
export function TokenLimits({ token: { limits }, status, recordedToday, detailed = false }: TokenLimitsProps) {
  const { requestsPerMinute, tokensPerDay, concurrentRequests } = limits ?? {};
  if ([requestsPerMinute, tokensPerDay, concurrentRequests].every((limit) => limit === undefined))
    return <span className="faint">Unlimited</span>;
  if (status === undefined) return <span className="faint">Unknown: the limiter is unreachable</span>;
  return <LimitMeters {...{ status, recordedToday, detailed }} isStrict={limits?.strictTokens} />;
}

interface LimitMetersProps extends Pick<TokenLimitsProps, 'recordedToday' | 'detailed'> {
  readonly status: LimitStatus;
  /** Whether requests reserve tokens per day before they run. */
  readonly isStrict?: boolean | undefined;
}

/** One line for each limit except a budget. */
export function LimitMeters({ status, recordedToday, detailed = false, isStrict }: LimitMetersProps) {
  const { requests, tokens, concurrency } = status;
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
          {detailed && requests.remaining === 0 && requests.nextSlotAtMs !== undefined && (
            <>
              next slot in <Countdown to={requests.nextSlotAtMs} />
            </>
          )}
        </Meter>
      )}
      {tokens !== undefined && (
        <Meter
          what="Tokens used today"
          unit={isStrict && detailed ? ' tokens today (strict)' : ' tokens today'}
          remaining={tokens.remaining}
          used={usedToday(tokens, recordedToday)}
          limit={tokens.limit}
        >
          {detailed && tokens.resetsAtMs !== undefined && (
            <>
              resets at <DayTime at={tokens.resetsAtMs} />
            </>
          )}
        </Meter>
      )}
      {concurrency !== undefined && (
        <Meter
          what="Requests running now"
          unit=" running"
          remaining={concurrency.limit - concurrency.running}
          used={concurrency.running}
          limit={concurrency.limit}
        />
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
  /** Writes a figure. Default: as a count. */
  readonly format?: (value: number) => string;
  readonly children?: React.ReactNode;
}

/** How much of a limit is used. */
export function Meter({ what, unit, used, remaining, limit, format = formatCompact, children }: MeterProps) {
  return (
    <div className="limit">
      <Bar share={limit === 0 ? 1 : Math.min(1, used / limit)} label={what} />
      <span title={what}>
        <span className="nowrap">
          <b>{format(used)}</b> of {format(limit)}
          {unit}
        </span>
        {reachedText(remaining)}
      </span>
      {children && <span className="faint limit-note">{children}</span>}
    </div>
  );
}
