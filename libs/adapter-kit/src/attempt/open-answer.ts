import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import { epochMs } from '@gateway/time';
import type { AdapterContext } from '../adapter-context.ts';
import { type ProviderAccount, sameSecret } from '../credentials/credential-cache.ts';
import { unexpectedAnswerCause } from '../failure/failure-cause.ts';
import type { AttemptFailure, ClientRequest, PreparedCall, QuotaWindow } from '../format-definition.ts';
import { readSkewMs } from '../quotas.ts';
import { readBody, type UpstreamExchange, type UpstreamHead } from '../upstream/upstream-exchange.ts';
import { plainFailure, unavailable } from './execute-result.ts';
import { type ProviderCalls, toErrorType } from './provider-calls.ts';

type OpenedAnswer = SuccessfulAnswer | RefusedAnswer;

/** A successful answer, from its head on, with the quotas in the head. */
export interface SuccessfulAnswer {
  readonly exchange: UpstreamExchange;
  readonly head: UpstreamHead;
  readonly quotas: readonly QuotaWindow[];
  readonly failure?: undefined;
}

/** Why there is no answer. */
interface RefusedAnswer {
  readonly failure: AttemptFailure;
  readonly quotas: readonly QuotaWindow[];
}

/** The parts of a request that affect how it is sent. */
type LeasedRequest = Pick<ClientRequest, 'requestId' | 'lease'>;

/** The part of a prepared call that is sent. */
type Call = Pick<PreparedCall, 'path' | 'headers' | 'body'>;

export interface OpenOptions {
  /** How long the start of the answer may take. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Calls are started here; the caller ends the last one. */
  readonly calls: ProviderCalls;
}

/**
 * Sends a call with the lease's account and reads the answer's head. It sends the call again with a
 * newer secret when the provider refuses the secret. Throws UpstreamError when the exchange broke
 * off, and GatewayError when no account's secret can be requested at all.
 */
export async function openAnswer(
  context: AdapterContext,
  request: LeasedRequest,
  call: Call,
  options: OpenOptions,
): Promise<OpenedAnswer> {
  const opening = new Opening(context, request, options);
  for (;;) {
    const failure = await opening.send(call);
    const opened = failure === undefined ? await opening.answer() : { failure, quotas: [] };
    if (opened !== undefined) return opened;
  }
}

/**
 * The steps of `openAnswer`, for a caller that acts between them. Disposal cancels the provider's
 * request.
 */
export class Opening implements Disposable {
  /** The exchange of the latest request. */
  exchange: UpstreamExchange | undefined;
  readonly #context: AdapterContext;
  readonly #request: LeasedRequest;
  readonly #options: OpenOptions;
  #account: ProviderAccount | undefined;
  #renewals = 0;

  constructor(context: AdapterContext, request: LeasedRequest, options: OpenOptions) {
    this.#context = context;
    this.#request = request;
    this.#options = options;
  }

  /** Resolves when the request was sent to the provider, or with the reason why it can't be. */
  async send({ path, headers: own, body }: Call): Promise<AttemptFailure | undefined> {
    const { upstream, format, metrics } = this.#context;
    const { calls, timeoutMs, signal } = this.#options;
    this.#account ??= await accountOf(this.#context, this.#request);
    const account = this.#account;
    if (account === undefined) return plainFailure(AttemptResult.UNAUTHORIZED, 'the account has no usable credential');
    const headers = { ...jsonHeaders, ...format.headers, ...calls.begin(account), ...own, ...account.secretHeader };
    const terms = { account, method: 'POST', timeoutMs, signal, onHead: metrics.answerBegan } as const;
    this.exchange = upstream.send({ ...terms, path, headers, body });
    await this.exchange.sent();
    return undefined;
  }

  /**
   * Undefined when the provider refuses the secret and a newer one exists: the caller must send
   * again.
   */
  async answer(): Promise<OpenedAnswer | undefined> {
    const { exchange } = this;
    if (exchange === undefined) throw new Error('nothing was sent');
    const received = await exchange.head();
    const head = { ...received, skewMs: readSkewMs(received.headers, epochMs()) };
    this.#options.calls.onHead(head);
    const opened = await toOpened(this.#context, this.#request, exchange, head);
    if (opened.failure === undefined) return opened;
    exchange[Symbol.dispose]();
    // Some providers refuse a revoked token with another status, and only the body shows it.
    const isRefused = head.status === 401 || (this.#renewals === 0 && isRevoked(opened));
    return isRefused ? this.#renewed(opened) : opened;
  }

  [Symbol.dispose](): void {
    this.exchange?.[Symbol.dispose]();
  }

  /** Undefined when a secret other than the refused one is available. */
  async #renewed(opened: RefusedAnswer): Promise<OpenedAnswer | undefined> {
    const { calls, signal } = this.#options;
    const { credentials } = this.#context;
    const refused = this.#account;
    if (refused === undefined) return opened;
    calls.end(toErrorType(opened.failure.result));
    credentials.drop(refused);
    // The same secret, if a replacement can't be requested.
    const canRenew = this.#renewals < maxRenewals;
    const fresh = canRenew ? await credentials.ofAccount(refused.accountId).catch(() => refused) : refused;
    if (signal.aborted || sameSecret(fresh, refused))
      return this.#renewals > 0 ? opened : withoutProblem(opened, refused);
    this.#account = fresh;
    this.#renewals += 1;
    return undefined;
  }
}

const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  // Otherwise a provider may use any encoding, and decoding would delay the answer.
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
};

/**
 * The replacement of a refused secret may be just as old, and the broker learns of the refusal only
 * with the second attempt.
 */
const maxRenewals = 2;

async function toOpened(
  context: AdapterContext,
  request: LeasedRequest,
  exchange: UpstreamExchange,
  head: UpstreamHead,
): Promise<OpenedAnswer> {
  const { headers, status, skewMs } = head;
  const { format } = context;
  const quotas = format.readWindows?.({ headers, skewMs, model: request.lease.model, nowMs: epochMs() }) ?? [];
  if (status >= 400) return { failure: await readFailure(context, exchange, head), quotas };
  if (isProviderAnswer(head)) return { exchange, head, quotas };
  const failure = plainFailure(AttemptResult.NETWORK_ERROR, unexpectedAnswerCause(head), status);
  return { failure, quotas: [] };
}

/**
 * Redirects, pages and bytes that can't be decoded do not come from a provider but from a proxy or
 * a captive portal.
 */
function isProviderAnswer({ status, headers }: UpstreamHead): boolean {
  const { 'content-type': contentType = '' } = headers;
  return (
    status < 300 &&
    isReadable(headers) &&
    (contentType === '' || /^(?:text\/event-stream|application\/(?:[\w.-]+\+)?json)\b/i.test(contentType))
  );
}

/** False for an unknown encoding. */
function isReadable({ 'content-encoding': encoding = 'identity' }: UpstreamHead['headers']): boolean {
  return encoding.toLowerCase() === 'identity';
}

async function readFailure(
  { format }: AdapterContext,
  exchange: UpstreamExchange,
  head: UpstreamHead,
): Promise<AttemptFailure> {
  const { status, headers } = head;
  exchange.endWithin(status === 401 ? refusalBodyTimeoutMs : errorBodyTimeoutMs);
  const nowMs = epochMs();
  if (!isReadable(headers)) return format.mapUpstreamError({ ...head, body: new Uint8Array(), nowMs });
  const body = await readBody(exchange, maxErrorBodyBytes);
  const answer = { status, contentType: headers['content-type'] ?? '', body };
  return { answer, ...format.mapUpstreamError({ ...head, body, nowMs }) };
}

const errorBodyTimeoutMs = 10_000;
/** A refused secret is replaced at once: a missing body must not delay the next attempt. */
const refusalBodyTimeoutMs = 1_000;
const maxErrorBodyBytes = 64 * 1024;

function isRevoked({ failure }: RefusedAnswer): boolean {
  return failure.problem === AccountProblem.CREDENTIAL_REVOKED;
}

/**
 * A failed refresh may be temporary, so the edge does not report the account as disabled; the
 * broker does, once the token can't be refreshed.
 */
function withoutProblem(opened: RefusedAnswer, account: ProviderAccount): RefusedAnswer {
  if (!isRevoked(opened) || account.version === '') return opened;
  return { ...opened, failure: { ...opened.failure, problem: undefined } };
}

/** Undefined when the pool-broker answers that there is no usable credential. */
async function accountOf(
  { credentials, logger }: AdapterContext,
  { requestId, lease }: LeasedRequest,
): Promise<ProviderAccount | undefined> {
  try {
    return await credentials.ofAccount(lease.accountId);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code === 'internal_error') throw unavailable(thrown);
    logger.warn({ request_id: requestId, pool: lease.pool, code: thrown.code }, 'no usable credential for an account');
    return undefined;
  }
}

export function isEventStream({ headers }: Pick<UpstreamHead, 'headers'>): boolean {
  return headers['content-type']?.toLowerCase().startsWith('text/event-stream') ?? false;
}
