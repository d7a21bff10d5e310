import { formatCountOf, usedUpText } from '@gateway/presentation';
import type { QuotaForecast } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { Status } from '../../ui/status.tsx';
import { Countdown, Time, useNowMs } from '../../ui/time.tsx';
import { forecastOf, forecastTone } from './account-words.ts';
import './pools.css';

interface ForecastLineProps {
  readonly forecast: QuotaForecast;
  /** How many accounts have reported no quota. */
  readonly silent?: number;
}

/** When the quotas of a pool, or of a family of its models, run out. */
export function ForecastLine({ forecast, silent = 0 }: ForecastLineProps) {
  const nowMs = useNowMs();
  const outlook = forecastOf(forecast, nowMs);
  const tone = forecastTone(outlook, nowMs);
  const besides =
    silent === 0 || forecast.models !== ''
      ? ''
      : ` ${formatCountOf(silent, 'account')} without a reported quota may last longer.`;
  return (
    <li>
      {forecast.models !== '' && <code>{forecast.models}</code>}
      {outlook.kind === 'ends' && (
        <>
          <Status tone={tone}>
            Runs out in <Countdown to={outlook.atMs} />
          </Status>
          <span>
            At the current rate: {usedUpText(outlook.window)} at <Time at={outlook.atMs} toMinute />.{besides}
          </span>
        </>
      )}
      {outlook.kind === 'dry' && (
        <>
          <Status tone={tone}>Exhausted</Status> {usedUpText(outlook.window)}.{besides}
        </>
      )}
      {outlook.kind === 'none usable' && (
        <>
          <Status tone={tone}>Unavailable</Status> No account is available.{besides}
        </>
      )}
      {outlook.kind === 'lasts' && (
        <>
          <Status tone={tone}>Sustainable</Status> Quotas renew faster than they are used.{besides}
        </>
      )}
      {outlook.kind === 'unknown' && (
        <>
          <Status tone={tone}>No forecast</Status> No account has reported a quota with a duration and a reset time.
        </>
      )}
    </li>
  );
}
