import type { RecordedRequest, Simulator } from '@gateway/simulator';
import { roomMs } from '@gateway/testkit/room';

/** The newest request that an account got on a path. Throws if there is none. */
export function lastRequestTo(simulator: Simulator, account: string, path: string): RecordedRequest {
  const last = simulator.requests({ account, path, limit: 1 })[0];
  if (last === undefined) throw new Error(`${account} got no request on ${path}`);
  return last;
}

/**
 * The provider's answer to a recorded request when it gets the same bytes again, without a gateway.
 */
export async function askAgain(
  { url }: Simulator,
  { path, body, account, headers }: RecordedRequest,
): Promise<{ readonly status: number; readonly text: string }> {
  const kept = ['anthropic-version', 'anthropic-beta'].flatMap((name) => {
    const value = headers[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { ...Object.fromEntries(kept), 'content-type': 'application/json', authorization: `Bearer ${account}` },
    body: Uint8Array.from(body),
    signal: AbortSignal.timeout(roomMs(30_000)),
  });
  return { status: response.status, text: await response.text() };
}

/**
 * An answer without the parts that differ between requests: ids, values derived from them, and the
 * time of the answer.
 */
export function withoutIds(text: string): string {
  return text
    .replaceAll(/sim[0-9a-f]{21}/g, 'sim')
    .replaceAll(/req_\d{16}/g, 'req')
    .replaceAll(/"(signature|encrypted_content)":"[^"]*"/g, '"$1":""')
    .replaceAll(/"(created_at|completed_at)":\d+/g, '"$1":0');
}
