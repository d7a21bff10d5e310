import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { QuotaWindowSchema } from '@gateway/proto/pool/v1/account_pb.js';
import type { QuotaWindow } from './format-definition.ts';

/** Merges quotas with later reports: the latest report of each counts. */
export function withLaterQuotas(quotas: readonly QuotaWindow[], later: readonly QuotaWindow[]): readonly QuotaWindow[] {
  const isReplaced = ({ name, models }: QuotaWindow) =>
    later.some((window) => window.name === name && window.models === models);
  return [...quotas.filter((window) => !isReplaced(window)), ...later];
}

/** A quota as the contract has it. */
export function toWindow({
  resetsAtMs,
  lengthSeconds,
  ...window
}: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  return {
    ...window,
    resetsAt: resetsAtMs === undefined ? undefined : timestampFromMs(resetsAtMs),
    lengthSeconds: lengthSeconds ?? 0,
  };
}
