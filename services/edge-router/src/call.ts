import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import type { RunningRequest } from '@gateway/limits';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind, LimitName, RefusalSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { AttemptReport, Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import {
  CancelReason,
  type LoggedAttempt,
  LoggedAttemptSchema,
  NoAccountCause,
  NoAccountSchema,
  type RequestLogged,
  RequestLoggedSchema,
  RequestTimesSchema,
} from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { type Span, startSpan, withSpan } from '@gateway/telemetry';
import { epochMs, monotonicMs } from '@gateway/time';
import { type Admission, limiterTerms } from './admission/admit.ts';
import type { BodyRules, EdgeRequest } from './body/read-body.ts';
import { CallUsage, type UsagePeers } from './call-usage.ts';
import type { ErrorDialect } from './errors/render-error.ts';
import type { GenAiOperation } from './events.ts';
import { clientRequestIdOf, clientSignal, type EdgeResponse } from './http/respond.ts';
import { Patience } from './patience.ts';
import { endAttemptSpan, endingOf, type FinalResponse } from './usage/request-log.ts';

/** What a request is for. */
export interface CallRoute {
  /** The endpoint's path. */
  readonly path: string;
  readonly errorDialect: ErrorDialect;
  /** What a request costs its token. Undefined: nothing, and it takes no slot. */
  readonly cost: CostKind | undefined;
  /**
   * The model operation of the endpoint: then its answers carry `x-ratelimit-*`, and its requests
   * are in the request log. Undefined: it uses no model.
   */
  readonly operation: GenAiOperation | undefined;
}

export interface CallPeers extends UsagePeers {
  readonly running: Pick<Set<RunningRequest>, 'add' | 'delete'>;
  /** How long a request waits for decisions. */
  readonly patienceMs: number;
}

/**
 * A request: the one record of it, from which its usage and its log entry are made. What it holds
 * ends with it. It never contains its content.
 */
export class Call implements AsyncDisposable {
  /** UUIDv7: the limiter's idempotency key, the ledger's primary key, the log's id. */
  readonly id: string;
  readonly route: CallRoute;
  readonly request: EdgeRequest;
  readonly response: EdgeResponse;
  /** Aborted when the client disconnects before the answer is sent. */
  readonly signal: AbortSignal;
  /** For all decisions of other services that come before the answer. */
  readonly patience: Patience;
  /** The log entry so far. */
  readonly logged: RequestLogged;
  /** Set when it is authenticated. */
  token!: Token;
  /** Set when it is admitted, like the bodies that its endpoint accepts. */
  admission!: Admission;
  bodyRules!: BodyRules;
  bodyBytes = 0;
  /** Undefined before the body is read, and if none arises. */
  usage: CallUsage | undefined;
  /** The lease of the latest attempt. */
  lease: Lease | undefined;
  /** When the first content of a streamed answer was sent. */
  firstTokenMs: number | undefined;
  readonly #peers: CallPeers;
  readonly #times = create(RequestTimesSchema);
  readonly #monotonicMs: () => number;
  readonly #startedAtMs: number;
  /** What it has taken at the limiter, and returns at its end. */
  #places: RunningRequest | undefined;
  #acquireStartedAtMs = 0;
  #attemptSpan: Span | undefined;
  /** Keeps the latest lease. */
  #renewal: Disposable | undefined;

  constructor(route: CallRoute, response: EdgeResponse, peers: CallPeers, readMonotonicMs = monotonicMs) {
    const { requestId, req } = response;
    this.id = requestId;
    this.route = route;
    this.request = req;
    this.response = response;
    this.signal = clientSignal(response);
    this.patience = new Patience(peers.patienceMs);
    const named = { requestId, clientRequestId: clientRequestIdOf(req), endpoint: route.path };
    this.logged = create(RequestLoggedSchema, { ...named, receivedAtMs: epochMs(), times: this.#times });
    this.#peers = peers;
    this.#monotonicMs = readMonotonicMs;
    this.#startedAtMs = readMonotonicMs();
  }

  /** Whether usage arises. */
  get isRecorded(): boolean {
    return this.route.cost === CostKind.REQUEST_AND_TOKENS;
  }

  get elapsedMs(): number {
    return this.#monotonicMs() - this.#startedAtMs;
  }

  onAuthenticated(token: Token): void {
    this.token = token;
    this.logged.tokenId = token.tokenId;
  }

  /** A limit of the token refused the request. */
  onRefused({ limit, retryAtMs }: Pick<GatewayError, 'limit' | 'retryAtMs'>): void {
    this.logged.refusal = create(RefusalSchema, { ...(limit && { limit: limits[limit] }), retryAtMs });
  }

  onAdmitted(admission: Admission, bodyRules: BodyRules): void {
    Object.assign(this, { admission, bodyRules });
    this.#times.admitted = this.#now();
  }

  /** It has taken places, or reserved money as well. */
  holdPlaces(places: RunningRequest): void {
    this.returnsPlaces();
    this.#places = places;
    this.#peers.running.add(places);
  }

  /** They are returned with the next charge. False if there are none, or they are returned. */
  returnsPlaces(): boolean {
    const places = this.#places;
    this.#places = undefined;
    return places !== undefined && this.#peers.running.delete(places);
  }

  /** @param model as the body names it; empty: it names none */
  onBodyRead(model: string, streamed: boolean, bytes: number): void {
    this.#times.bodyRead = this.#now();
    this.bodyBytes = bytes;
    if (this.isRecorded) this.usage = new CallUsage(this, this.#peers);
    this.logged.streamed = streamed;
    // A copy: a slice would keep the whole text in memory, whose length the client determines.
    this.logged.model = Buffer.from(model.slice(0, longestModel)).toString();
  }

  /** The body is no longer needed. */
  releaseBody(): void {
    this.#times.waitedForRoom = this.bodyRules.allocation.waitedMs;
    this.bodyRules.allocation[Symbol.dispose]();
  }

  onAsking(): void {
    this.#acquireStartedAtMs = this.#now();
  }

  /** An attempt starts, or there is no account. */
  onAcquired({ result, reason, skipped }: AcquireResponse): void {
    if (result.case !== 'lease') {
      const retryAtMs = result.case === 'exhausted' ? result.value.retryAtMs : undefined;
      return this.onNoAccount({ cause: causes[result.case ?? 'unavailable'], reason, skipped, retryAtMs });
    }
    const { pool, accountId, model } = result.value;
    const attempt = { pool, accountId, model, reason, skipped, asked: this.#acquireStartedAtMs, acquired: this.#now() };
    this.#times.firstAttempt ??= attempt.acquired;
    this.logged.attempts.push(create(LoggedAttemptSchema, attempt));
    this.logged.moved = this.logged.attempts.length > 1;
    this.lease = result.value;
    this.#attemptSpan = startSpan('attempt', { attributes: { 'gateway.pool': pool, 'gateway.account': accountId } });
  }

  /** Runs `work` as part of the current attempt: its calls appear inside the attempt's span. */
  withinAttempt<T>(work: () => T): T {
    return this.#attemptSpan === undefined ? work() : withSpan(this.#attemptSpan, work);
  }

  /** No further attempt is made. */
  onNoAccount(why: MessageInitShape<typeof NoAccountSchema>): void {
    const answered = this.#now();
    this.logged.noAccount = create(NoAccountSchema, { ...why, asked: this.#acquireStartedAtMs, answered });
  }

  /** A provider is about to be called with this lease, which is renewed until the next one. */
  onLease(lease: Lease, renewal: Disposable): void {
    this.#renewal?.[Symbol.dispose]();
    this.#renewal = renewal;
    this.usage?.onLease(lease);
  }

  /** The first content of an answer has arrived. */
  onAnswering(): void {
    if (this.#attempt !== undefined) this.#attempt.firstByte = this.#now();
  }

  /** The first content of a streamed answer is sent. */
  onStreaming(): void {
    this.firstTokenMs = this.#now();
  }

  /** The attempt was possible only without a part that the provider refused. */
  onAmended(amended: string): void {
    if (this.#attempt !== undefined) this.#attempt.amended = amended;
  }

  /** Only the first call for an attempt has an effect. */
  onAttemptEnded(report: AttemptReport, cancelReason = CancelReason.UNSPECIFIED): void {
    const attempt = this.#attempt;
    if (attempt === undefined || attempt.ended !== undefined) return;
    const { result, upstreamStatus, retryAtMs } = report;
    const cause = report.cause.slice(0, longestCause);
    Object.assign(attempt, { ended: this.#now(), result, upstreamStatus, retryAtMs, cancelReason, cause });
    if (this.#attemptSpan !== undefined) endAttemptSpan(this.#attemptSpan, attempt);
  }

  /**
   * The client was disconnected because it read nothing, whether or not the attempt had succeeded.
   */
  onClientStalled(): void {
    if (this.#attempt !== undefined) this.#attempt.cancelReason = CancelReason.CLIENT_STALLED;
  }

  /**
   * Ends what the request holds, before its client may learn that it failed. Usage is recorded for
   * an attempt that was still running when the client left, or when its answer took too long.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#renewal?.[Symbol.dispose]();
    const isTooLong = this.#attempt?.cancelReason === CancelReason.TOO_LONG;
    if (this.signal.aborted) await this.usage?.settle(LedgerOutcome.ABORTED);
    else await (isTooLong ? this.usage?.settle(LedgerOutcome.FAILED) : this.usage?.discard());
    if (this.#times.admitted !== undefined) this.releaseBody();
    // Nothing was recorded for it, which would have returned what it took.
    if (!this.returnsPlaces()) return;
    const charge = { ...limiterTerms(this.token), requestId: this.id, localDay: this.admission.localDay };
    await this.#peers.limiter.charge({ ...charge, tokens: 0, ended: true });
  }

  /**
   * The answer is sent, or its client has gone.
   * @param slowMs an answer that starts this long after the request was read is slow
   */
  onEnded(end: FinalResponse, slowMs: number): void {
    const last = this.#attempt;
    const [ended, firstByte, { bodyRead }] = [this.#now(), last?.firstByte, this.#times];
    Object.assign(this.#times, { ended, firstByte });
    // The client's upload time does not count.
    const slow = bodyRead !== undefined && (firstByte ?? ended) - bodyRead >= slowMs;
    const { status, errorCode = '' } = end;
    Object.assign(this.logged, { status, errorCode, ending: endingOf(end, last), slow });
  }

  get #attempt(): LoggedAttempt | undefined {
    return this.logged.attempts.at(-1);
  }

  /** Rounded to a hundredth of a millisecond. */
  #now(): number {
    return Math.round(this.elapsedMs * 100) / 100;
  }
}

const longestModel = 100;
/** As the contract of AttemptReport says. */
const longestCause = 200;

const causes = {
  exhausted: NoAccountCause.EXHAUSTED,
  unavailable: NoAccountCause.UNAVAILABLE,
  unknownModel: NoAccountCause.UNKNOWN_MODEL,
} as const;

const limits = {
  requests_per_minute: LimitName.REQUESTS_PER_MINUTE,
  tokens_per_day: LimitName.TOKENS_PER_DAY,
  group_requests_per_minute: LimitName.GROUP_REQUESTS_PER_MINUTE,
  group_tokens_per_day: LimitName.GROUP_TOKENS_PER_DAY,
  budget: LimitName.BUDGET,
  concurrency: LimitName.CONCURRENCY,
} as const;
