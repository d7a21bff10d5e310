import { setTimeout as sleep } from 'node:timers/promises';
import { toJson } from '@bufbuild/protobuf';
import { RequestRecordedSchema } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { roomMs } from '@gateway/testkit/room';
import type { Topology } from '../topologies/topology.ts';

/**
 * An entry of the request log as JSON, with the members that tests use: members without a value are
 * absent.
 */
export interface LoggedRequestJson {
  readonly requestId: string;
  readonly ending: string;
  readonly status?: number;
  readonly errorCode?: string;
  readonly attempts?: readonly AttemptJson[];
  readonly noAccount?: { readonly cause: string; readonly retryAtMs?: number };
}

export interface AttemptJson {
  readonly accountId: string;
  readonly reason?: string;
  readonly result: string;
  readonly upstreamStatus?: number;
  readonly retryAtMs?: number;
  readonly amended?: string;
  readonly skipped?: readonly { readonly pool: string; readonly reason: string; readonly count: number }[];
  readonly usage?: {
    readonly inputTokens?: number;
    readonly outputTokens?: number;
    readonly cacheWrite5mTokens?: number;
    readonly cacheWrite1hTokens?: number;
  };
  readonly costMicros?: number;
}

/**
 * The latest requests of a token, newest first, as operators see them. A request is logged soon
 * after it has ended: waits until there are this many.
 */
export async function loggedRequestsOf(
  { operator }: Pick<Topology, 'operator'>,
  tokenId: string,
  atLeast = 1,
): Promise<readonly LoggedRequestJson[]> {
  for (const giveUpAtMs = Date.now() + roomMs(10_000); ; await sleep(50)) {
    const requests = (await operator.requestsOf(tokenId)).map((each) => toJson(RequestRecordedSchema, each));
    if (requests.length >= atLeast || Date.now() > giveUpAtMs) return requests as unknown as LoggedRequestJson[];
  }
}
