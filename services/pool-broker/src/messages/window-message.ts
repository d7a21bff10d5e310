import type { MessageInitShape } from '@bufbuild/protobuf';
import { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
import type { QuotaWindowSchema, QuotaWindow as WindowMessage } from '@gateway/proto/pool/v1/account_pb.js';
import type { QuotaWindow } from '../accounts/attempt.ts';

/** The quotas that an answer told of. What has no name or no sensible amount tells nothing. */
export function fromWindowMessages(messages: readonly WindowMessage[]): readonly QuotaWindow[] {
  if (messages.length === 0) return none;
  return messages
    .filter(({ name, usedFraction }) => name !== '' && Number.isFinite(usedFraction) && usedFraction >= 0)
    .slice(0, maxWindows)
    .map(({ name, models, usedFraction, resetsAt, lengthSeconds }) => ({
      name,
      models,
      usedFraction,
      resetsAtMs: resetsAt === undefined ? undefined : timestampMs(resetsAt),
      lengthMs: lengthSeconds === 0 ? undefined : lengthSeconds * 1_000,
    }));
}

const none: readonly QuotaWindow[] = [];

/** More than any provider tells of in one answer. */
const maxWindows = 16;

export function toWindowMessage(window: QuotaWindow): MessageInitShape<typeof QuotaWindowSchema> {
  const { name, models, usedFraction, resetsAtMs, lengthMs = 0 } = window;
  return {
    name,
    models,
    usedFraction,
    resetsAt: resetsAtMs === undefined ? undefined : timestampFromMs(resetsAtMs),
    lengthSeconds: Math.round(lengthMs / 1_000),
  };
}
