import { type AccountProbe, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { countText, durationText } from '../../output/words.ts';

/** What came of the probe of an account: "200, 14 models in 84 ms", "401 from the provider". */
export function probeText(probe: Omit<AccountProbe, '$typeName'>): string {
  const { result, upstreamStatus, modelCount, cause, durationMs, simulated } = probe;
  if (result === ProbeResult.SKIPPED) return `not asked, because ${cause}`;
  if (result !== ProbeResult.SUCCEEDED) return cause;
  const answer = `${upstreamStatus}, ${countText(modelCount, 'model')} in ${durationText(durationMs)}`;
  return simulated ? `${answer} (simulated provider)` : answer;
}
