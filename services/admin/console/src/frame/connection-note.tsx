import { reconnectNow, useConnection } from '../api/live.ts';
import { Button } from '../ui/button.tsx';
import { Countdown } from '../ui/time.tsx';

/** Says whether what is shown is live. */
export function ConnectionNote() {
  const connection = useConnection();
  const state = connection?.state;
  return (
    <div className="connection" data-state={state}>
      <span role="status">
        {state === 'lost' ? 'Connection lost. What you see is old.' : state === 'live' ? 'Live' : ''}
      </span>
      {connection?.state === 'lost' && (
        <>
          <span className="faint">
            Next try in <Countdown to={connection.retryAtMs} />
          </span>
          <Button kind="quiet" onClick={reconnectNow}>
            Try now
          </Button>
        </>
      )}
    </div>
  );
}
