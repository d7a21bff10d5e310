import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import type { QuotaWindow } from '../provider-format.ts';
import type { UpstreamHead } from '../upstream/upstream-exchange.ts';

export type QuotaReport = readonly MessageInitShape<typeof QuotaWindowSchema>[];

/** What the head of an answer, whatever its status, tells of the account's quotas. */
export function readQuotas({ format, clock }: AdapterContext, model: string, { headers }: UpstreamHead): QuotaReport {
  const windows = format.readWindows?.({ headers, model, nowMs: clock.nowMs() }) ?? [];
  return windows.length === 0 ? none : windows.map(toMessage);
}

const none: QuotaReport = [];

/** A report with what the answer told of after its head: of each quota the latest word counts. */
export function withLaterQuotas(report: QuotaReport, later: readonly QuotaWindow[]): QuotaReport {
  const isTold = ({ name, models }: QuotaReport[number]) =>
    later.some((window) => window.name === name && window.models === models);
  return [...report.filter((window) => !isTold(window)), ...later.map(toMessage)];
}

function toMessage({ resetsAtMs, lengthSeconds, ...window }: QuotaWindow): QuotaReport[number] {
  return {
    ...window,
    resetsAt: resetsAtMs === undefined ? undefined : timestampFromMs(resetsAtMs),
    lengthSeconds: lengthSeconds ?? 0,
  };
}
