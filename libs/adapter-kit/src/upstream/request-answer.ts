import { ExchangeReader } from './exchange-reader.ts';
import { readBody } from './read-body.ts';
import type { UpstreamClient, UpstreamRequest } from './upstream-client.ts';

/** A provider's answer to a small request, whole. */
export interface UpstreamAnswer {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Sends a request and reads its answer within `timeoutMs`. Throws UpstreamError when there is none. */
export async function requestAnswer(
  upstream: UpstreamClient,
  request: Omit<UpstreamRequest, 'listener'>,
): Promise<UpstreamAnswer> {
  using answer = new ExchangeReader((listener) => upstream.send({ ...request, listener }));
  const { status, headers } = await answer.head();
  return { status, headers, body: await readBody(answer, maxAnswerBytes) };
}

const maxAnswerBytes = 4 * 1024 * 1024;
