import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-service.ts';
import { type ProviderAccount, sameSecret } from '../credentials/credential-cache.ts';
import type { AttemptFailure, ClientRequest, PreparedCall, QuotaWindow } from '../format-definition.ts';
import { readBody, type UpstreamExchange, type UpstreamHead } from '../upstream/upstream-exchange.ts';
import { plainFailure, unavailable } from './execute-result.ts';
import { type ProviderCalls, toErrorType } from './provider-calls.ts';

type OpenedAnswer = SuccessfulAnswer | RefusedAnswer;

/** An answer with success, from its head on, with the quotas that the head reports. */
export interface SuccessfulAnswer {
  readonly exchange: UpstreamExchange;
  readonly head: UpstreamHead;
  readonly quotas: readonly QuotaWindow[];
  readonly failure?: undefined;
}

/** Why there is none. */
interface RefusedAnswer {
  readonly failure: AttemptFailure;
  readonly quotas: readonly QuotaWindow[];
}

/** What of a request matters for sending it. */
type LeasedRequest = Pick<ClientRequest, 'requestId' | 'lease'>;

/** The part of a prepared call that is sent. */
type Call = Pick<PreparedCall, 'path' | 'headers' | 'body'>;

export interface OpenOptions {
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** They are begun here; the last one is ended by the caller. */
  readonly calls: ProviderCalls;
}

/**
 * Sends a call with the lease's account, up to the head of the answer; again with a newer secret when the provider refuses the
 * one it was sent with. Throws UpstreamError when the exchange broke off, and GatewayError when accounts can't be asked for at all.
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

/** The steps of `openAnswer`, for a caller that has something to do between them. Disposing it cancels the provider's request. */
export class Opening implements Disposable {
  /** Of the request that was sent last. */
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

  /** Resolves once the request has left for the provider, or answers why it can't be sent. */
  async send({ path, headers: own, body }: Call): Promise<AttemptFailure | undefined> {
    const { upstream, format, metrics } = this.#context;
    const { calls, timeoutMs, signal } = this.#options;
    this.#account ??= await accountOf(this.#context, this.#request);
    const account = this.#account;
    if (account === undefined) return plainFailure(AttemptResult.UNAUTHORIZED, 'the account has no credential');
    const headers = { ...jsonHeaders, ...format.headers, ...calls.begin(account), ...own, ...account.secretHeader };
    const terms = { account, method: 'POST', timeoutMs, signal, onHead: metrics.answerBegan } as const;
    this.exchange = upstream.send({ ...terms, path, headers, body });
    await this.exchange.sent();
    return undefined;
  }

  /** Undefined when the provider refuses the secret and there is a newer one: the call is to be sent again. */
  async answer(): Promise<OpenedAnswer | undefined> {
    const { exchange } = this;
    if (exchange === undefined) throw new Error('nothing was sent');
    const head = await exchange.head();
    this.#options.calls.onHead(head.status);
    const opened = await toOpened(this.#context, this.#request, exchange, head);
    if (opened.failure === undefined) return opened;
    exchange[Symbol.dispose]();
    // Some providers refuse a revoked token with another status, and say so in the body alone.
    const isRefused = head.status === 401 || (this.#renewals === 0 && isRevoked(opened));
    return isRefused ? this.#renewed(opened) : opened;
  }

  [Symbol.dispose](): void {
    this.exchange?.[Symbol.dispose]();
  }

  /** Undefined when there is another secret than the refused one. */
  async #renewed(opened: RefusedAnswer): Promise<OpenedAnswer | undefined> {
    const { calls, signal } = this.#options;
    const { credentials } = this.#context;
    const refused = this.#account;
    if (refused === undefined) return opened;
    calls.end(toErrorType(opened.failure.result));
    credentials.drop(refused);
    // The same secret, when what took its place can't be asked for.
    const canRenew = this.#renewals < maxRenewals;
    const fresh = canRenew ? await credentials.ofAccount(refused.accountId).catch(() => refused) : refused;
    if (signal.aborted || sameSecret(fresh, refused))
      return this.#renewals > 0 ? opened : withoutDoubt(opened, refused);
    this.#account = fresh;
    this.#renewals += 1;
    return undefined;
  }
}

const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  // Without it a provider may send any encoding, which decoding would hold up.
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
};

/** What took the place of a refused secret may be as old, and the broker learns that it is refused only from the second try. */
const maxRenewals = 2;

async function toOpened(
  context: AdapterContext,
  request: LeasedRequest,
  exchange: UpstreamExchange,
  head: UpstreamHead,
): Promise<OpenedAnswer> {
  const { headers, status } = head;
  const { format, clock } = context;
  const quotas = format.readWindows?.({ headers, model: request.lease.model, nowMs: clock.nowMs() }) ?? [];
  if (status >= 400) return { failure: await readFailure(context, exchange, head), quotas };
  if (isProviderAnswer(head)) return { exchange, head, quotas };
  const failure = plainFailure(AttemptResult.NETWORK_ERROR, 'the answer is not the provider’s', status);
  return { failure, quotas: [] };
}

/**
 * Redirects, pages and bytes that can't be decoded are not a provider's answer: a proxy or a captive network gave them.
 */
function isProviderAnswer({ status, headers }: UpstreamHead): boolean {
  const { 'content-type': contentType = '' } = headers;
  return (
    status < 300 &&
    isReadable(headers) &&
    (contentType === '' || /^(?:text\/event-stream|application\/(?:[\w.-]+\+)?json)\b/i.test(contentType))
  );
}

/** False for an encoding that is not known here. */
function isReadable({ 'content-encoding': encoding = 'identity' }: UpstreamHead['headers']): boolean {
  return encoding.toLowerCase() === 'identity';
}

async function readFailure(
  { format, clock }: AdapterContext,
  exchange: UpstreamExchange,
  { status, headers }: UpstreamHead,
): Promise<AttemptFailure> {
  exchange.endWithin(status === 401 ? refusalBodyTimeoutMs : errorBodyTimeoutMs);
  const nowMs = clock.nowMs();
  if (!isReadable(headers)) return format.mapUpstreamError({ status, headers, body: new Uint8Array(), nowMs });
  const body = await readBody(exchange, maxErrorBodyBytes);
  const answer = { status, contentType: headers['content-type'] ?? '', body };
  return { answer, ...format.mapUpstreamError({ status, headers, body, nowMs }) };
}

const errorBodyTimeoutMs = 10_000;
/** A refused secret is replaced at once: a body that does not come must not delay the next try. */
const refusalBodyTimeoutMs = 1_000;
const maxErrorBodyBytes = 64 * 1024;

function isRevoked({ failure }: RefusedAnswer): boolean {
  return failure.problem === AccountProblem.CREDENTIAL_REVOKED;
}

/** A token that could not be replaced just now does not end its account: the broker knows when it never can be. */
function withoutDoubt(opened: RefusedAnswer, account: ProviderAccount): RefusedAnswer {
  if (!isRevoked(opened) || account.version === '') return opened;
  return { ...opened, failure: { ...opened.failure, problem: undefined } };
}

/** Undefined when the account service answers that there is no usable credential. */
async function accountOf(
  { credentials, logger }: AdapterContext,
  { requestId, lease }: LeasedRequest,
): Promise<ProviderAccount | undefined> {
  try {
    return await credentials.ofAccount(lease.accountId);
  } catch (thrown) {
    if (!(thrown instanceof GatewayError) || thrown.code === 'internal_error') throw unavailable(thrown);
    logger.warn({ request_id: requestId, pool: lease.pool, code: thrown.code }, 'an account has no usable credential');
    return undefined;
  }
}
