import { pauseReason } from '@gateway/presentation';
import type { PoolPause } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { Status } from '../../ui/status.tsx';
import { Countdown, Time } from '../../ui/time.tsx';

/**
 * Shows that a pool is paused, why, and until when: "Paused until 15:51:07 (in 4 s): the provider
 * is overloaded."
 */
export function PauseLine({ pause }: { readonly pause: PoolPause }) {
  const { untilMs, model } = pause;
  return (
    <>
      <Status tone={model === '' ? 'bad' : 'warn'}>Paused</Status>
      <span>
        {untilMs === undefined ? (
          'Until one request succeeds'
        ) : (
          <>
            Until <Time at={untilMs} />, in <Countdown to={untilMs} />
          </>
        )}
        : {pauseReason(pause)}.
      </span>
    </>
  );
}
