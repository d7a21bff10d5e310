import { create } from '@bufbuild/protobuf';
import { GetDayTotalResponseSchema, GetGroupTotalResponseSchema } from '@gateway/proto/usage/v1/usage_service_pb.js';
import type { LimiterPeers } from '../src/service.ts';

/**
 * A usage service with a ledger that a test fills: for one token or group, on one day. A token
 * costs a millionth.
 */
export class UsageLedger {
  readonly #tokens = new Map<string, number>();
  /** The highest number of ids in one query. */
  mostAsked = 0;

  get total(): number {
    return this.#tokens.values().reduce((sum, tokens) => sum + tokens, 0);
  }

  ingest(requestId: string, tokens: number): void {
    this.#tokens.set(requestId, tokens);
  }

  readonly usageQuery: NonNullable<LimiterPeers['usageQuery']> = {
    getDayTotal: async ({ requestIds = [] }) => {
      this.mostAsked = Math.max(this.mostAsked, requestIds.length);
      return create(GetDayTotalResponseSchema, {
        totalTokens: this.total,
        includedRequestIds: requestIds.filter((id) => this.#tokens.has(id)),
      });
    },
    getGroupTotal: async ({ requestIds = [] }) => {
      return create(GetGroupTotalResponseSchema, {
        totalTokens: this.total,
        costMicros: this.total,
        includedRequestIds: requestIds.filter((id) => this.#tokens.has(id)),
      });
    },
  };
}
