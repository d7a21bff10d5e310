import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import type { UsageRecorder } from './recording/usage-recorder.ts';
import { record } from './rpc/record.ts';

export function usageIngestRoute(recorder: UsageRecorder) {
  return serviceRoute(UsageIngestService, {
    record: (request) => record(recorder, request),
  });
}
