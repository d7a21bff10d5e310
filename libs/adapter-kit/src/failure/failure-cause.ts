import { UpstreamError, type UpstreamHead } from '../upstream/upstream-exchange.ts';

/**
 * Why a provider did not answer, for operators: "connection refused by 10.0.0.7:443". Contains
 * addresses and codes of the operating system, never text of the provider. Empty: nothing is known
 * beyond the attempt's result.
 */
export function failureCause(error: unknown): string {
  if (typeof error === 'string') return error;
  if (!(error instanceof UpstreamError)) return '';
  const connection = error.cause instanceof Error ? connectionCause(error.cause) : undefined;
  return (connection ?? causeOfMessage(error.message)).slice(0, longestCause);
}

/**
 * How an answer differs from one of a provider: "answered 200 with text/html where
 * text/event-stream was expected". Only the media type is shown, not its parameters.
 */
export function unexpectedAnswerCause({ status, headers }: UpstreamHead): string {
  if (status >= 300) return `answered ${status} where 200 was expected`;
  const { 'content-type': contentType = '', 'content-encoding': encoding = 'identity' } = headers;
  const [type] = /^[\w.+-]{1,40}\/[\w.+-]{1,80}/.exec(contentType.toLowerCase()) ?? [];
  if (type === 'text/event-stream' && encoding !== 'identity')
    return `answered ${status} with a content-encoding that was not asked for`;
  return `answered ${status} with ${type ?? 'no content-type'} where text/event-stream was expected`;
}

/** As the contract of AttemptReport says. A configured host name may be longer. */
const longestCause = 200;

/** A message of ours inside a sentence: "The provider timed out." → "the provider timed out" */
export function causeOfMessage(message: string): string {
  return `${message.charAt(0).toLowerCase()}${message.slice(1).replace(/\.$/, '')}`;
}

/** An error of undici, Node or the operating system. The peer may be a proxy. */
type ConnectionError = Error & {
  readonly code?: string;
  readonly address?: string;
  readonly port?: number;
  readonly hostname?: string;
  readonly host?: string;
};

function connectionCause(error: ConnectionError): string | undefined {
  if (error instanceof AggregateError) return connectionCause(error.errors[0]);
  const { code = '', address, port, hostname = 'the host name', message } = error;
  const peer = address === undefined ? 'the provider' : `${address}:${port}`;
  const proxyStatus = /^Proxy response \((\d{3})\)/.exec(message)?.[1];
  if (proxyStatus !== undefined) return `the proxy answered ${proxyStatus}`;
  // Whatever else an error has as its code may be a text of others.
  if (!/^[A-Z][A-Z0-9_]{2,60}$/.test(code)) return undefined;
  const words = wordsOfCode[code];
  if (words !== undefined) return words(peer, hostname);
  const isOfTls = /^(ERR_TLS_|ERR_SSL_|CERT_|UNABLE_TO_|DEPTH_ZERO_|SELF_SIGNED_)/.test(code);
  return isOfTls ? `TLS failed (${code})` : `the connection failed (${code})`;
}

const wordsOfCode: Readonly<Record<string, (peer: string, hostname: string) => string>> = {
  ECONNREFUSED: (peer) => `connection refused by ${peer}`,
  ENOTFOUND: (_peer, hostname) => `${hostname} has no address (DNS)`,
  EAI_AGAIN: (_peer, hostname) => `DNS does not answer for ${hostname}`,
  EHOSTUNREACH: (peer) => `no route to ${peer}`,
  ENETUNREACH: (peer) => `no route to ${peer}`,
  ETIMEDOUT: (peer) => `no connection to ${peer} in time`,
  UND_ERR_CONNECT_TIMEOUT: (peer) => `no connection to ${peer} in time`,
  UND_ERR_SOCKET: () => 'the connection closed before the answer',
  ECONNRESET: () => 'the connection was reset',
  EPIPE: () => 'the connection was reset',
};
