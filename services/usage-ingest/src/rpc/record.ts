import type { RecordRequest } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { UsageRecorder } from '../recording/usage-recorder.ts';

/** Stores events and log entries, each once. Answers after the commit. */
export async function record(recorder: UsageRecorder, { events, logs }: RecordRequest) {
  return { recorded: await recorder.record(events, logs) };
}
