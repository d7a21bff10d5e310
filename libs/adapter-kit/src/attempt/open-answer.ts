import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-service.ts';
import { type ProviderAccount, sameSecret } from '../credentials/credential-cache.ts';
import type { ClientRequest, PreparedCall, QuotaWindow, UpstreamFailure } from '../provider-format.ts';
import { readBody, type UpstreamExchange, type UpstreamHead } from '../upstream/upstream-exchange.ts';
import { plainFailure, unavailable } from './outcome.ts';

/** An answer with success, from its head on; or why there is none. Either with the quotas that the head reports. */
export type OpenedAnswer = (
  | { readonly exchange: UpstreamExchange; readonly head: UpstreamHead; readonly failure?: undefined }
  | { readonly failure: UpstreamFailure }
) & { readonly quotas: readonly QuotaWindow[] };

/** What of a request matters for sending it. */
export type LeasedRequest = Pick<ClientRequest, 'requestId' | 'lease'>;

/** The part of a prepared call that is sent. */
type Call = Pick<PreparedCall, 'path' | 'headers' | 'body'>;

export interface OpenOptions<F> {
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** The frame to yield each time the request leaves for the provider. */
  readonly sentFrame?: () => F;
}

/**
 * Sends a call with the lease's account, up to the head of the answer. Throws UpstreamError when the exchange broke
 * off, and GatewayError when accounts can't be asked for at all.
 */
export async function* openAnswer<F = never>(
  context: AdapterContext,
  request: LeasedRequest,
  call: Call,
  options: OpenOptions<F>,
): AsyncGenerator<F, OpenedAnswer> {
  const account = await accountOf(context, request);
  if (account === undefined) {
    return { failure: plainFailure(AttemptResult.UNAUTHORIZED, 'the account has no credential'), quotas: [] };
  }
  const first = yield* send(context, call, account, options);
  let sent = first.head.status === 401 ? yield* retryRefused(context, call, first, options) : first;
  const opened = await toOpened(context, request, sent);
  // Some providers refuse a revoked token with another status, and say so in the body alone.
  if (isRevoked(opened) && first.head.status !== 401) {
    sent = yield* retryRefused(context, call, first, options);
    if (sent !== first) return await toOpened(context, request, sent);
  }
  return withoutDoubt(opened, sent);
}

/** A call that was sent, from the head of its answer on. */
interface Sent {
  readonly account: ProviderAccount;
  readonly exchange: UpstreamExchange;
  readonly head: UpstreamHead;
  /** True when it was sent with what took the place of a refused secret. */
  readonly isRenewed?: boolean;
}

async function* send<F>(
  { upstream, format }: AdapterContext,
  call: Call,
  account: ProviderAccount,
  { timeoutMs, signal, sentFrame }: OpenOptions<F>,
): AsyncGenerator<F, Sent> {
  const headers = { ...jsonHeaders, ...format.headers, ...call.headers, ...account.secretHeader };
  const { path, body } = call;
  using unread = new DisposableStack();
  const exchange = unread.use(upstream.send({ account, method: 'POST', path, headers, body, timeoutMs, signal }));
  await exchange.sent();
  if (sentFrame !== undefined) yield sentFrame();
  const head = await exchange.head();
  unread.move();
  return { account, exchange, head };
}

/** Answers must come as they are: bytes are relayed and read as they arrive. */
const jsonHeaders = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  // Without it a provider may send any encoding.
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
};

/**
 * What was refused is sent again with a newer secret, where there is one: a cached one may have been replaced since. At most
 * twice: what took its place may be as old, and the broker learns that it is refused only from this second try.
 */
async function* retryRefused<F>(
  context: AdapterContext,
  call: Call,
  first: Sent,
  options: OpenOptions<F>,
): AsyncGenerator<F, Sent> {
  let sent = first;
  for (let renewals = 0; renewals < maxRenewals; renewals++) {
    const { account: refused } = sent;
    context.credentials.drop(refused);
    const fresh = await context.credentials.ofAccount(refused.accountId).catch(() => refused);
    if (options.signal.aborted || sameSecret(fresh, refused)) return sent;
    sent.exchange.release();
    sent = { ...(yield* send(context, call, fresh, options)), isRenewed: true };
    if (sent.head.status !== 401) return sent;
  }
  context.credentials.drop(sent.account);
  return sent;
}

const maxRenewals = 2;

async function toOpened(
  context: AdapterContext,
  request: LeasedRequest,
  { exchange, head }: Sent,
): Promise<OpenedAnswer> {
  const { headers, status } = head;
  const { format, clock } = context;
  const quotas = format.readWindows?.({ headers, model: request.lease.model, nowMs: clock.nowMs() }) ?? [];
  if (status >= 400) return { failure: await readFailure(context, exchange, head), quotas };
  if (isProviderAnswer(head)) return { exchange, head, quotas };
  exchange[Symbol.dispose]();
  const failure = plainFailure(AttemptResult.NETWORK_ERROR, 'the answer is not the provider’s', status);
  return { failure, quotas: [] };
}

/** Redirects, pages and encoded bytes are not a provider's answer: a proxy or a captive network gave them. */
function isProviderAnswer({ status, headers }: UpstreamHead): boolean {
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = headers;
  return (
    status < 300 &&
    encoding.toLowerCase() === 'identity' &&
    (contentType === '' || /^(?:text\/event-stream|application\/(?:[\w.-]+\+)?json)\b/i.test(contentType))
  );
}

async function readFailure(
  { format, clock }: AdapterContext,
  exchange: UpstreamExchange,
  { status, headers }: UpstreamHead,
): Promise<UpstreamFailure> {
  using _ = exchange;
  exchange.endWithin(errorBodyTimeoutMs);
  const body = await readBody(exchange, maxErrorBodyBytes);
  const answer = { status, contentType: headers['content-type'] ?? '', body };
  return { answer, ...format.mapUpstreamError({ status, headers, body, nowMs: clock.nowMs() }) };
}

const errorBodyTimeoutMs = 10_000;
const maxErrorBodyBytes = 64 * 1024;

function isRevoked(opened: OpenedAnswer): boolean {
  return opened.failure?.problem === AccountProblem.CREDENTIAL_REVOKED;
}

/** A token that could not be replaced just now does not end its account: the broker knows when it never can be. */
function withoutDoubt(opened: OpenedAnswer, { account, isRenewed = false }: Sent): OpenedAnswer {
  if (opened.failure === undefined || !isRevoked(opened) || account.version === '' || isRenewed) return opened;
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
    logger.warn({ requestId, pool: lease.pool, code: thrown.code }, 'an account has no usable credential');
    return undefined;
  }
}
