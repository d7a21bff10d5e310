import type { ServiceRuntime } from '@gateway/lifecycle';
import { type Clock, systemClock } from '@gateway/time';
import type { LimiterConfig } from '../config.ts';
import { AdmissionFile } from './admission-file.ts';
import { reasonOf } from './failure-reason.ts';
import type { LimitStore } from './limit-store.ts';
import { MemoryLimitStore } from './memory-limit-store.ts';

export interface EmbeddedLimitStoreOptions {
  readonly config: Pick<LimiterConfig, 'memoryMaxKeys'>;
  /** The file of the last minute's admissions. No other process may have it open. */
  readonly path: string;
  readonly runtime: ServiceRuntime;
  readonly clock?: Clock;
}

/** The store of a limiter that is alone: in memory, with the minute windows that the process before it left. */
export async function openEmbeddedLimitStore(
  { config: { memoryMaxKeys: maxKeys }, path, runtime, clock = systemClock }: EmbeddedLimitStoreOptions,
  resources: AsyncDisposableStack,
): Promise<LimitStore> {
  const file = resources.use(new AdmissionFile({ path, clock, onFault: admissionNotKept(runtime) }));
  const store = new MemoryLimitStore({ clock, maxKeys, onAdmitted: (admission) => file.add(admission) });
  const nowMs = clock.nowMs();
  for (const { key, requestId, enteredMs } of file.admissions()) {
    await store.recordAdmissions(key, [{ requestId, ageMs: nowMs - enteredMs }]);
  }
  return store;
}

/** A disk that is full fails with every request: the log says it once, the metric each time. */
function admissionNotKept({ logger, metrics }: ServiceRuntime): (thrown: unknown) => void {
  const notKept = metrics.counter({
    name: 'gateway_limiter_admissions_not_kept_total',
    help: 'Admissions that could not be written to the file of the embedded limiter: a restart within a minute forgets them.',
  });
  let isKnown = false;
  return (thrown) => {
    notKept.inc();
    if (!isKnown) logger.warn({ reason: reasonOf(thrown) }, 'admissions can not be kept: a restart would forget them');
    isKnown = true;
  };
}
