import { type IncomingMessage, request } from 'node:http';

/** A request as a client sends it. */
export interface PostedQuestion {
  readonly baseUrl: string;
  readonly token: string;
  readonly kind: { readonly path: string; readonly body: (text: string) => unknown };
  readonly text: string;
  /** In addition to the credential. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly timeoutMs: number;
}

/**
 * Sends a request on a connection of its own. Resolves with the head of the answer, or why there is
 * none.
 */
export function postQuestion({ baseUrl, token, kind, text, headers, timeoutMs }: PostedQuestion): Promise<{
  readonly response?: IncomingMessage;
  readonly failure?: string | undefined;
}> {
  const body = JSON.stringify(kind.body(text));
  return new Promise((resolve) => {
    const sent = request(`${baseUrl}${kind.path}`, {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
        ...headers,
      },
      signal: AbortSignal.timeout(timeoutMs),
    });
    sent.once('response', (response) => resolve({ response }));
    sent.on('error', (error: NodeJS.ErrnoException) => resolve({ failure: error.code }));
    sent.end(body);
  });
}
