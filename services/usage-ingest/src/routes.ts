import { UsageLedgerService } from '@gateway/proto/usage/v1/usage_operator_service_pb.js';
import { UsageIngestService } from '@gateway/proto/usage/v1/usage_service_pb.js';
import { serviceRoute } from '@gateway/rpc';
import type { UsageRecorder } from './recording/usage-recorder.ts';
import type { DeadLetterReplay } from './replay/dead-letter-replay.ts';
import { reconcileDay } from './rpc/reconcile-day.ts';
import { record } from './rpc/record.ts';
import { replayDeadLetters } from './rpc/replay-dead-letters.ts';
import type { LedgerCheck } from './store/ledger-check.ts';

export function usageIngestRoute(recorder: UsageRecorder) {
  return serviceRoute(UsageIngestService, {
    record: (request) => record(recorder, request),
  });
}

export function usageLedgerRoute(check: LedgerCheck, replay: DeadLetterReplay) {
  return serviceRoute(UsageLedgerService, {
    reconcileDay: (request) => reconcileDay(check, request),
    replayDeadLetters: (request) => replayDeadLetters(replay, request),
  });
}
