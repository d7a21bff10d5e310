import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { AccountProbeSchema, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { describe, expect, it } from 'vitest';
import { probeText } from './probe-text.ts';

const listed = { result: ProbeResult.SUCCEEDED, upstreamStatus: 200, modelCount: 14, durationMs: 84 };
const refused = { result: ProbeResult.FAILED, upstreamStatus: 401, cause: '401 from the provider', durationMs: 20 };
const noCredential = 'the account has no usable credential.';

describe('what came of a probe', () => {
  it.each<[MessageInitShape<typeof AccountProbeSchema>, string]>([
    [listed, '200, 14 models in 84 ms'],
    [{ ...listed, modelCount: 1 }, '200, 1 model in 84 ms'],
    [{ ...listed, simulated: true }, '200, 14 models in 84 ms (simulated provider)'],
    [refused, '401 from the provider'],
    [{ result: ProbeResult.NOT_ASKED, cause: noCredential }, noCredential],
    [{ result: ProbeResult.SKIPPED, cause: 'the account is disabled' }, 'not asked, because the account is disabled'],
  ])('is said in a few words: %j', (probe, text) => {
    expect(probeText(create(AccountProbeSchema, probe), { duration: (ms) => `${ms} ms` })).toBe(text);
  });
});
