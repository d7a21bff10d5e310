import { type AccountProbe, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { formatCountOf } from './numbers.ts';
import type { Wording } from './request-text.ts';

/** What came of the probe of an account: "200, 14 models in 84 ms", "401 from the provider". */
export function probeText(
  { result, upstreamStatus, modelCount, cause, durationMs, simulated }: Omit<AccountProbe, '$typeName'>,
  { duration }: Pick<Wording, 'duration'>,
): string {
  if (result === ProbeResult.SKIPPED) return `not asked, because ${cause}`;
  if (result !== ProbeResult.SUCCEEDED) return cause;
  const answer = `${upstreamStatus}, ${formatCountOf(modelCount, 'model')} in ${duration(durationMs)}`;
  return simulated ? `${answer} (simulated provider)` : answer;
}
