import { cancelTimer, startProcessInterval } from '@gateway/time';

/** A connection whose other side may stop to answer without closing it. */
export interface Watched {
  /** Grows with everything that arrives. */
  readonly received: number;
  /** Whether an answer is due. */
  readonly isWaiting: boolean;
  /** Asks the other side for a sign of life. Resolves when it gives one; never rejects. */
  probe(): Promise<void>;
  /** Called once, when it gives none. */
  onSilent(): void;
}

/** In ticks of this process. */
export interface SilenceLimits {
  readonly tickMs: number;
  /** Silence after which a connection is probed: with calls that wait for an answer, or not. */
  readonly waiting: number;
  readonly idle: number;
  /** Silence after the probe. */
  readonly unanswered: number;
}

export const usualSilence: SilenceLimits = { tickMs: 250, waiting: 4, idle: 40, unanswered: 20 };

/**
 * Watches a connection until it is silent or the watch is disposed of. Time is counted in turns of
 * this process, after the network was read: a process that was paused or starved has received
 * nothing either, and must not conclude that the other side is gone.
 */
export function watchForSilence(watched: Watched, { tickMs, ...limits }: SilenceLimits = usualSilence): Disposable {
  let receivedBefore = watched.received;
  let quietTicks = 0;
  let probedAtTicks: number | undefined;
  let isOver = false;
  const hear = () => {
    quietTicks = 0;
    probedAtTicks = undefined;
  };
  const end = () => {
    isOver = true;
    cancelTimer(timer);
  };
  const timer = startProcessInterval(() => {
    if (isOver) return;
    if (watched.received !== receivedBefore) hear();
    receivedBefore = watched.received;
    quietTicks += 1;
    if (probedAtTicks === undefined && quietTicks > (watched.isWaiting ? limits.waiting : limits.idle)) {
      probedAtTicks = quietTicks;
      void watched.probe().then(hear);
    } else if (probedAtTicks !== undefined && quietTicks - probedAtTicks >= limits.unanswered) {
      end();
      watched.onSilent();
    }
  }, tickMs).unref();
  return { [Symbol.dispose]: end };
}
