import { createHmac } from 'node:crypto';
import type { Proxies } from '@gateway/config';
import { epochMs, random, timeoutSignal } from '@gateway/time';
import { EnvHttpProxyAgent, request } from 'undici';
import { z } from 'zod';
import type { AlertRow, AttemptEnding } from './alert-store.ts';
import type { Receiver } from './receiver.ts';

export interface AlertSenderOptions {
  readonly proxies: Proxies;
  /** The console's address for browsers. Undefined: messages have no links. */
  readonly publicUrl: string | undefined;
}

/** Sends messages to receivers. */
export class AlertSender {
  readonly #options: AlertSenderOptions;
  readonly #connections: EnvHttpProxyAgent;

  constructor(options: AlertSenderOptions) {
    this.#options = options;
    // Each message has a connection of its own: they are rare.
    this.#connections = new EnvHttpProxyAgent({ ...options.proxies, maxResponseSize: maxAnswerBytes, pipelining: 0 });
  }

  /**
   * Makes one attempt. No answer contains text of the receiver, or a part of its URL. @throws the
   * signal's reason, if it is aborted.
   */
  async attempt(row: AlertRow, receiver: Receiver, signal: AbortSignal): Promise<AttemptEnding> {
    const nowMs = epochMs();
    const body = JSON.stringify(bodyOf(row, receiver, this.#options.publicUrl));
    const signature = receiver.secret && signatureOf(receiver.secret.reveal(), row.alert_id, nowMs, body);
    try {
      // Redirects are not followed: one could lead to an address that the operator has not chosen.
      const {
        statusCode,
        headers,
        body: answer,
      } = await request(receiver.url.reveal(), {
        dispatcher: this.#connections,
        method: 'POST',
        headers: { 'content-type': 'application/json', 'user-agent': 'model-gateway', ...signature },
        body,
        signal: AbortSignal.any([signal, timeoutSignal(attemptTimeoutMs)]),
      });
      await answer.dump({ limit: maxAnswerBytes });
      if (statusCode >= 200 && statusCode < 300) return { state: 'sent', answer: String(statusCode) };
      const mayPass = statusCode === 408 || statusCode === 429 || statusCode >= 500;
      if (!mayPass) return { state: 'failed', answer: String(statusCode) };
      return this.#retry(row, String(statusCode), Number(headers['retry-after'] ?? 0));
    } catch (thrown) {
      signal.throwIfAborted();
      return this.#retry(row, failureOf(thrown), 0);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#connections.destroy();
  }

  #retry({ attempts }: AlertRow, answer: string, retryAfterSeconds: number): AttemptEnding {
    if (attempts >= mostAttempts) return { state: 'failed', answer };
    const backoffMs = firstPauseMs * 2 ** (attempts - 1) * (0.75 + random() / 2);
    const givenMs = Number.isFinite(retryAfterSeconds) ? Math.min(retryAfterSeconds * 1_000, longestGivenMs) : 0;
    return { state: 'retry', answer, dueAtMs: Math.round(epochMs() + Math.max(backoffMs, givenMs)) };
  }
}

const maxAnswerBytes = 64 * 1024;
const attemptTimeoutMs = 10_000;
/** With pauses from two seconds on that double, the last attempt is an hour after the first. */
export const mostAttempts = 12;
const firstPauseMs = 2_000;
const longestGivenMs = 3_600_000;

/**
 * The headers of Standard Webhooks.
 * @see https://github.com/standard-webhooks/standard-webhooks/blob/main/spec/standard-webhooks.md
 */
function signatureOf(secret: string, id: string, nowMs: number, body: string) {
  const timestamp = String(Math.floor(nowMs / 1_000));
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': `v1,${signature}` };
}

function bodyOf({ kind, subject, text, link, ...row }: AlertRow, { format }: Receiver, publicUrl = ''): object {
  const url = publicUrl === '' || link === '' ? '' : `${publicUrl}${link}`;
  if (format === 'slack') return { text: `${escaped(text)}${url === '' ? '' : ` <${url}|Open the console>`}` };
  return {
    type: `gateway.alert.${kind}`,
    timestamp: new Date(row.created_at_ms).toISOString(),
    data: { ...details.parse(JSON.parse(row.details)), subject, period: row.period, text, url },
  };
}

const details = z.record(z.string(), z.union([z.string(), z.number()]));

/** The characters with which Slack marks links and mentions. */
function escaped(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** The transport error in one word of Node's: "ECONNREFUSED", "TimeoutError". */
function failureOf(thrown: unknown): string {
  const cause = thrown instanceof Error ? (thrown.cause ?? thrown) : thrown;
  if (!(cause instanceof Error)) return 'no answer';
  return 'code' in cause && typeof cause.code === 'string' ? cause.code : cause.name;
}
