import { vi } from 'vitest';
import type { LimiterEvents } from '../src/limiter-events.ts';

/** Events of which a test asks what was told. */
export function watchedEvents() {
  return {
    decided: vi.fn<LimiterEvents['decided']>(),
    degraded: vi.fn<LimiterEvents['degraded']>(),
    outageBegan: vi.fn<LimiterEvents['outageBegan']>(),
    outageEnded: vi.fn<LimiterEvents['outageEnded']>(),
    admissionsHandedOver: vi.fn<LimiterEvents['admissionsHandedOver']>(),
    settlesPending: vi.fn<LimiterEvents['settlesPending']>(),
    settleDropped: vi.fn<LimiterEvents['settleDropped']>(),
    dayTotalLoadFailed: vi.fn<LimiterEvents['dayTotalLoadFailed']>(),
    dayCorrected: vi.fn<LimiterEvents['dayCorrected']>(),
  };
}
