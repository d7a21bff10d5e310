import { GatewayError } from '@gateway/errors';
import { AccountProblem, AttemptResult } from '@gateway/proto/pool/v1/account_pb.js';
import type { AdapterContext } from '../adapter-context.ts';
import { type ProviderAccount, sameSecret } from '../credentials/credential-cache.ts';
import type { ClientRequest, PreparedCall, UpstreamFailure } from '../provider-format.ts';
import { ExchangeReader } from '../upstream/exchange-reader.ts';
import { readBody } from '../upstream/read-body.ts';
import type { ExchangeListener, UpstreamExchange, UpstreamHead } from '../upstream/upstream-exchange.ts';
import { plainFailure, unavailable } from './attempt-failure.ts';
import { type QuotaReport, readQuotas } from './read-quotas.ts';

export type OpenedAnswer =
  | {
      readonly kind: 'answering';
      readonly answer: ExchangeReader;
      readonly head: UpstreamHead;
      readonly quotas: QuotaReport;
    }
  | { readonly kind: 'failed'; readonly failure: UpstreamFailure; readonly quotas: QuotaReport };

/** What of a request matters for sending it. */
export type LeasedRequest = Pick<ClientRequest, 'requestId' | 'lease'>;

/** The part of a prepared call that is sent. */
type Call = Omit<PreparedCall, 'answer'>;

export interface OpenOptions {
  /** How long the answer may take to begin. See `UpstreamExchange`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  /** Is told each time the request leaves for the provider. */
  readonly onSent?: () => void;
}

/**
 * Sends a call with the lease's account, up to the head of the answer. Throws UpstreamError when the exchange broke
 * off, and GatewayError when accounts can't be asked for at all.
 */
export async function openAnswer(
  context: AdapterContext,
  request: LeasedRequest,
  call: Call,
  options: OpenOptions,
): Promise<OpenedAnswer> {
  const account = context.credentials.cached(request.lease.accountId) ?? (await accountOf(context, request));
  if (account === undefined) {
    const failure = plainFailure(AttemptResult.UNAUTHORIZED, 'the account has no credential');
    return { kind: 'failed', failure, quotas: [] };
  }
  return await openSent(context, request, call, { sent: await send(context, call, account, options), ...options });
}

/** As `openAnswer`, for a call that was sent and whose answer has a head. */
export async function openSent(
  context: AdapterContext,
  request: LeasedRequest,
  call: Call,
  { sent: first, ...options }: OpenOptions & { readonly sent: Sent },
): Promise<OpenedAnswer> {
  const sent = first.head.status === 401 ? await retryRefused(context, call, first, options) : first;
  const opened = await toOpened(context, request, sent);
  // Some providers refuse a revoked token with another status, and say so in the body alone.
  if (sent !== first || first.head.status === 401 || !isRevoked(opened)) return withoutDoubt(opened, sent);
  const again = await retryRefused(context, call, first, options);
  return again === first ? withoutDoubt(opened, first) : toOpened(context, request, again);
}

export interface SendOptions {
  readonly account: ProviderAccount;
  readonly listener: ExchangeListener;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
  /** Is told when the request leaves for the provider. */
  readonly onSent?: (() => void) | undefined;
}

export function sendCall(
  { upstream, headers: callHeaders }: AdapterContext,
  { path, headers, body }: Call,
  { account, listener, timeoutMs, signal, onSent }: SendOptions,
): UpstreamExchange {
  return upstream.send({
    account,
    method: 'POST',
    path,
    headers: callHeaders.of(account, headers),
    body,
    timeoutMs,
    listener,
    signal,
    onSent,
  });
}

/** Redirects, pages and encoded bytes are not a provider's answer: a proxy or a captive network gave them. */
export function isProviderAnswer({ status, headers }: UpstreamHead): boolean {
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = headers;
  return (
    status < 300 &&
    encoding.toLowerCase() === 'identity' &&
    (contentType === '' || /^(?:text\/event-stream|application\/(?:[\w.-]+\+)?json)\b/i.test(contentType))
  );
}

async function toOpened(
  context: AdapterContext,
  request: LeasedRequest,
  { answer, head }: Sent,
): Promise<OpenedAnswer> {
  const quotas = readQuotas(context, request.lease.model, head);
  if (head.status >= 400) return { kind: 'failed', failure: await readFailure(context, answer, head), quotas };
  if (isProviderAnswer(head)) return { kind: 'answering', answer, head, quotas };
  answer[Symbol.dispose]();
  const failure = plainFailure(AttemptResult.NETWORK_ERROR, 'the answer is not the provider’s', head.status);
  return { kind: 'failed', failure, quotas: [] };
}

function isRevoked(opened: OpenedAnswer): boolean {
  return opened.kind === 'failed' && opened.failure.problem === AccountProblem.CREDENTIAL_REVOKED;
}

/** A token that could not be replaced just now does not end its account: the broker knows when it never can be. */
function withoutDoubt(opened: OpenedAnswer, { account, isRenewed = false }: Sent): OpenedAnswer {
  if (opened.kind !== 'failed' || !isRevoked(opened) || account.version === '' || isRenewed) return opened;
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

/** A call that was sent, from the head of its answer on. */
export interface Sent {
  readonly account: ProviderAccount;
  readonly answer: ExchangeReader;
  readonly head: UpstreamHead;
  /** True when it was sent with what took the place of a refused secret. */
  readonly isRenewed?: boolean;
}

async function send(
  context: AdapterContext,
  call: Call,
  account: ProviderAccount,
  options: OpenOptions,
): Promise<Sent> {
  const answer = new ExchangeReader((listener) => sendCall(context, call, { account, listener, ...options }));
  return { account, answer, head: await answer.head() };
}

/**
 * What was refused is sent again with a newer secret, where there is one: a cached one may have been replaced since. Twice at
 * most, for what took its place may be as old as that: it is known to be refused only once somebody says so.
 */
async function retryRefused(context: AdapterContext, call: Call, first: Sent, options: OpenOptions): Promise<Sent> {
  let sent = first;
  for (let renewals = 0; renewals < maxRenewals; renewals++) {
    const { account: refused } = sent;
    context.credentials.drop(refused);
    const fresh = await context.credentials.ofAccount(refused.accountId).catch(() => refused);
    if (options.signal.aborted || sameSecret(fresh, refused)) return sent;
    sent.answer.exchange.release();
    sent = { ...(await send(context, call, fresh, options)), isRenewed: true };
    if (sent.head.status !== 401) return sent;
  }
  context.credentials.drop(sent.account);
  return sent;
}

const maxRenewals = 2;

async function readFailure(
  { format, clock }: AdapterContext,
  answer: ExchangeReader,
  { status, headers }: UpstreamHead,
): Promise<UpstreamFailure> {
  using _ = answer;
  answer.exchange.endWithin(errorBodyTimeoutMs);
  const body = await readBody(answer, maxErrorBodyBytes);
  const providerAnswer = { status, contentType: headers['content-type'] ?? '', body };
  return { answer: providerAnswer, ...format.mapUpstreamError({ status, headers, body, nowMs: clock.nowMs() }) };
}

const errorBodyTimeoutMs = 10_000;
const maxErrorBodyBytes = 64 * 1024;
