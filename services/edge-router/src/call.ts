import { create, type MessageInitShape } from '@bufbuild/protobuf';
import type { GatewayError } from '@gateway/errors';
import type { Reservation } from '@gateway/limits';
import type { Usage } from '@gateway/proto/adapter/v1/adapter_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { CostKind, LimitName, RefusalSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import type { AttemptReport, Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { AcquireResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import {
  CancelReason,
  NoAccountCause,
  NoAccountSchema,
  type RecordedAttempt,
  RecordedAttemptSchema,
  RequestEnding,
  type RequestRecorded,
  RequestRecordedSchema,
  RequestTimesSchema,
} from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { inSpan, type Span, startSpan, withSpan } from '@gateway/telemetry';
import { epochMs, monotonicMs } from '@gateway/time';
import { type Admission, chargedTerms, type EdgeLimiter } from './admission/admit.ts';
import type { BodyRules, EdgeRequest } from './body/read-body.ts';
import { CallUsage, type UsagePeers } from './call-usage.ts';
import type { EdgeRouterConfig } from './config.ts';
import type { ErrorDialect } from './errors/render-error.ts';
import type { GenAiOperation } from './events.ts';
import { clientRequestIdOf, clientSignal, type EdgeResponse } from './http/respond.ts';
import { hasStalled } from './http/stalled-clients.ts';
import { Patience } from './patience.ts';
import type { Outbox, OutboxRow } from './usage/outbox.ts';
import { outboxRowOf } from './usage/outbox-row.ts';
import { endAttemptSpan, endingOf, type FinalResponse, type RequestLog, wordOf } from './usage/request-log.ts';

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
  readonly outbox: Pick<Outbox, 'open' | 'finish' | 'log' | 'close'>;
  readonly limiter: Pick<EdgeLimiter, 'settle'>;
  readonly requestLog: Pick<RequestLog, 'takes'>;
  readonly config: Pick<EdgeRouterConfig, 'traceSlowMs'>;
  readonly holds: Pick<Set<Reservation>, 'add' | 'delete'>;
  /** How long a request waits for decisions. */
  readonly patienceMs: number;
}

/** How a request ends. */
export interface CallEnd extends FinalResponse {
  /** An answer had begun. */
  readonly hasBegun?: boolean;
  /** Usage that arrived at the very end. */
  readonly usage?: Usage | undefined;
}

/**
 * A request: the one record of it, for the ledger and for the request log. What it holds ends with
 * it. It never contains its content.
 */
export class Call {
  /** UUIDv7: the limiter's idempotency key, the ledger's primary key, the log's id. */
  readonly id: string;
  readonly route: CallRoute;
  readonly request: EdgeRequest;
  readonly response: EdgeResponse;
  /** Aborted when the client disconnects before the answer is sent. */
  readonly signal: AbortSignal;
  /** For all decisions of other services that come before the answer. */
  readonly patience: Patience;
  /** What is known so far. */
  readonly record: RequestRecorded;
  readonly row: OutboxRow;
  /** Set when it is authenticated. */
  token!: Token;
  /** Set when it is admitted, like the bodies that its endpoint accepts. */
  admission!: Admission;
  bodyRules!: BodyRules;
  /** Undefined before the body is read, and if none arises. */
  usage: CallUsage | undefined;
  /** The lease of the latest attempt. */
  lease: Lease | undefined;
  /** When the first content of a streamed answer was sent. */
  firstTokenMs: number | undefined;
  readonly #peers: CallPeers;
  readonly #times = create(RequestTimesSchema);
  readonly #receivedAtMs = epochMs();
  readonly #monotonicMs: () => number;
  readonly #startedAtMs: number;
  /** What it has taken at the limiter, and returns at its end. */
  #held: Reservation | undefined;
  #acquireStartedAtMs = 0;
  #attemptSpan: Span | undefined;
  /** Keeps the latest lease. */
  #renewal: Disposable | undefined;
  #ended: Promise<void> | undefined;

  constructor(route: CallRoute, response: EdgeResponse, peers: CallPeers, readMonotonicMs = monotonicMs) {
    const { requestId, req } = response;
    this.id = requestId;
    this.route = route;
    this.request = req;
    this.response = response;
    this.signal = clientSignal(response);
    this.patience = new Patience(peers.patienceMs);
    const named = { requestId, clientRequestId: clientRequestIdOf(req), endpoint: route.path };
    this.record = create(RequestRecordedSchema, { ...named, times: this.#times });
    this.row = outboxRowOf(this.record);
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
    Object.assign(this.record, { tokenId: token.tokenId, groupId: token.groupId });
  }

  /** A limit of the token refused the request. */
  onRefused({ limit, retryAtMs }: Pick<GatewayError, 'limit' | 'retryAtMs'>): void {
    this.record.refusal = create(RefusalSchema, { ...(limit && { limit: limits[limit] }), retryAtMs });
  }

  onAdmitted(admission: Admission, bodyRules: BodyRules): void {
    Object.assign(this, { admission, bodyRules });
    Object.assign(this.record, { admittedAtMs: admission.admittedAtMs, localDay: admission.localDay });
    this.#times.admitted = this.#now();
  }

  /** It holds leases, and may have reserved money or tokens. */
  holdLeases(held: Reservation): void {
    this.returnLeases();
    this.#held = held;
    this.#peers.holds.add(held);
  }

  /** They are returned with the next charge. False if there are none, or they are returned. */
  returnLeases(): boolean {
    const held = this.#held;
    this.#held = undefined;
    return held !== undefined && this.#peers.holds.delete(held);
  }

  /** @param model as the body names it; empty: it names none */
  onBodyRead(model: string, streamed: boolean, bodyBytes: number): void {
    this.#times.bodyRead = this.#now();
    if (this.isRecorded) this.usage = new CallUsage(this, this.#peers);
    Object.assign(this.record, { streamed, bodyBytes });
    // A copy: a slice would keep the whole text in memory, whose length the client determines.
    this.record.model = Buffer.from(model.slice(0, longestModel)).toString();
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
    const { pool, accountId, model, provider } = result.value;
    const asked = { reason, skipped, asked: this.#acquireStartedAtMs, acquired: this.#now() };
    this.#times.firstAttempt ??= asked.acquired;
    this.record.attempts.push(create(RecordedAttemptSchema, { pool, accountId, model, provider, ...asked }));
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
    this.record.noAccount = create(NoAccountSchema, { ...why, asked: this.#acquireStartedAtMs, answered });
  }

  /** A provider is about to be called with the latest lease, renewed until the next. */
  onLease(renewal: Disposable): void {
    this.#renewal?.[Symbol.dispose]();
    this.#renewal = renewal;
    this.usage?.onLease();
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
    const { result, upstreamStatus, retryAtMs, providerRequestId } = report;
    const cause = report.cause.slice(0, longestCause);
    Object.assign(attempt, { ended: this.#now(), result, upstreamStatus, retryAtMs, cancelReason, cause });
    attempt.providerRequestId = providerRequestId;
    if (this.#attemptSpan !== undefined) endAttemptSpan(this.#attemptSpan, attempt);
  }

  /** It needs its lease and its body no more. */
  release(): void {
    this.#renewal?.[Symbol.dispose]();
    if (this.#times.admitted !== undefined) this.releaseBody();
  }

  /**
   * Ends the request, once and for all: before its client has the last byte, or may learn that it
   * failed. When this resolves, its usage is delivered or at least on disk, its tokens are charged
   * to the day, and its leases are returned: the next request sees all of it. Later calls have no
   * effect.
   */
  end(how: CallEnd): Promise<void> {
    this.#ended ??= this.#end(how);
    return this.#ended;
  }

  #end(how: CallEnd): Promise<void> {
    const { outbox, requestLog } = this.#peers;
    const { record, row } = this;
    this.release();
    this.#close(how);
    if (this.route.operation !== undefined && requestLog.takes(record)) record.receivedAtMs = this.#receivedAtMs;
    const used = record.attempts.filter(({ usage }) => usage !== undefined);
    if (used.length > 0) {
      return inSpan('settle', {}, (span) => {
        span.setAttribute('gateway.outcome', wordOf(RequestEnding, record.ending));
        // The day is charged before the record may be delivered: otherwise a counter loaded from
        // the ledger in between would count the request twice.
        return outbox.finish(row, this.#charge(used));
      });
    }
    if (record.receivedAtMs === undefined) outbox.close(row);
    else outbox.log(row);
    return this.#charge(used) ?? Promise.resolve();
  }

  /** Completes the record. */
  #close(how: CallEnd): void {
    const { record } = this;
    const last = this.#attempt;
    const { status, errorCode = '', clientLeft, hasBegun = false, usage } = how;
    // Whether or not the attempt had succeeded.
    if (clientLeft && last !== undefined && hasStalled(this.request.socket))
      last.cancelReason = CancelReason.CLIENT_STALLED;
    const isTooLong = last?.cancelReason === CancelReason.TOO_LONG;
    this.usage?.end(hasBegun || clientLeft || isTooLong, usage);
    const [ended, firstByte, { bodyRead }] = [this.#now(), last?.firstByte, this.#times];
    Object.assign(this.#times, { ended, firstByte });
    // The client's upload time does not count.
    const slow = bodyRead !== undefined && (firstByte ?? ended) - bodyRead >= this.#peers.config.traceSlowMs;
    Object.assign(record, { status, errorCode, ending: endingOf(how, last), slow });
  }

  /** Charges what each attempt used to the day, and returns what the request took. */
  #charge(used: readonly RecordedAttempt[]): Promise<void> | undefined {
    const ended = this.returnLeases();
    const last = this.#attempt;
    const charges = used.map((attempt) => this.#chargeFor(attempt, ended && attempt === last));
    if (ended && last?.usage === undefined) charges.push(this.#chargeFor(undefined, ended));
    const [first, ...others] = charges;
    return others.length === 0 ? first : Promise.all(charges).then(() => undefined);
  }

  /** @param attempt undefined: only what the request took is returned. */
  #chargeFor(attempt: RecordedAttempt | undefined, ended: boolean): Promise<void> | undefined {
    const terms = chargedTerms(this.token);
    if (terms === undefined) return undefined;
    const { usage, costMicros = 0 } = attempt ?? {};
    const tokens = (usage?.inputTokens ?? 0) + (usage?.outputTokens ?? 0);
    // That of the entry in the ledger.
    const place = attempt === undefined ? 0 : this.record.attempts.indexOf(attempt) + 1;
    const requestId = place === 0 || attempt === this.#attempt ? this.id : `${this.id}/${place}`;
    const charge = { ...terms, requestId, localDay: this.admission.localDay, tokens };
    if (terms.group === undefined && terms.limits === undefined) return this.#peers.limiter.settle(charge);
    return this.#peers.limiter.settle({ ...charge, costMicros, ended });
  }

  get #attempt(): RecordedAttempt | undefined {
    return this.record.attempts.at(-1);
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
