import type { MessageInitShape } from '@bufbuild/protobuf';
import type { TimestampSchema } from '@bufbuild/protobuf/wkt';
import type { GatewayErrorCode } from '@gateway/errors';
import type { AttemptGivenUp, NoAccountCause } from '@gateway/proto/edge/v1/request_trace_service_pb.js';
import type { AttemptResult, SkippedAccounts } from '@gateway/proto/pool/v1/account_pb.js';

/** What one request met on its way, as far as it has come. Never what was said in it. */
export interface RequestStory {
  readonly requestId: string;
  /** The id that the client gave it, shortened. Empty: it gave none. Nothing is to be trusted of it. */
  readonly clientRequestId: string;
  readonly receivedAtMs: number;
  /** The endpoint's path. */
  readonly endpoint: string;
  /** Empty until the token is known. */
  readonly tokenId: string;
  /** As the client named it, cut to what a model's id can be. Empty until the body is read. */
  readonly model: string;
  /** Oldest first. */
  readonly attempts: readonly AttemptStory[];
  /** Why there was no attempt, or no further one. */
  readonly noAccount: NoAccountStory | undefined;
  readonly moments: RequestMoments;
  readonly usage: BookedUsage | undefined;
  /** Undefined while the request is under way. */
  readonly end: RequestEnd | undefined;
}

/** In milliseconds since the request was received; undefined when it did not come so far. */
export interface RequestMoments {
  readonly admitted: number | undefined;
  readonly bodyRead: number | undefined;
  readonly ended: number | undefined;
}

/** One attempt with one account. Moments are as in RequestMoments. */
export interface AttemptStory {
  readonly pool: string;
  /** "<pool>/<name>": for operators, never for clients or logs. */
  readonly accountId: string;
  /** The provider's model id. */
  readonly model: string;
  /** Why this account, in the broker's words. */
  readonly reason: string;
  readonly skipped: readonly SkippedAccounts[];
  /** When the broker was asked for it. */
  readonly asked: number;
  readonly acquired: number;
  /** When the first content of the answer was there. */
  readonly firstByte: number | undefined;
  readonly ended: number | undefined;
  /** Undefined while it is under way. */
  readonly outcome: AttemptOutcome | undefined;
  /** What the provider refused, when the request was sent once more without that. */
  readonly amended: string;
  readonly givenUp: AttemptGivenUp;
}

/** What is told of an attempt's end; the broker is told more. */
export interface AttemptOutcome {
  readonly result?: AttemptResult;
  readonly upstreamStatus?: number;
  readonly retryAt?: MessageInitShape<typeof TimestampSchema> | undefined;
}

export interface NoAccountStory {
  readonly cause: NoAccountCause;
  readonly retryAtMs: number | undefined;
  /** Why, though an account was left, in the broker's words. */
  readonly reason: string;
  readonly skipped: readonly SkippedAccounts[];
  readonly asked: number;
  readonly answered: number;
}

export interface BookedUsage {
  /** Cached ones included. */
  readonly inputTokens: bigint;
  readonly cachedTokens: bigint;
  /** Reasoning included. */
  readonly outputTokens: bigint;
  readonly reasoningTokens: bigint;
  readonly estimated: boolean;
}

export interface RequestEnd {
  /** The HTTP status that was sent, or would have been. */
  readonly status: number;
  /** The error that the client was told before anything of an answer; undefined when there was none. */
  readonly errorCode: GatewayErrorCode | undefined;
  /** The client left before the end. */
  readonly clientLeft: boolean;
  /** How long the request waited for room for its body, in milliseconds. */
  readonly waitedForRoomMs: number;
}
