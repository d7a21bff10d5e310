import { setTimeout as sleep } from 'node:timers/promises';
import { ConfigError, type GatewayConfig, type GatewaySource } from '@gateway/config';
import { onHangUp } from './hang-up-signal.ts';
import { ReloadRequests } from './reload-requests.ts';
import { watchFile } from './watch-file.ts';

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Goes over to what the file says now. Throws ConfigError when that is not possible. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
  readonly onRefused: (problems: readonly string[]) => void;
}

/**
 * Reads `gateway.yaml` again whenever its text changes, and on SIGHUP, until the signal is aborted. A file that can't be used
 * is refused once, not again until it changes.
 */
export async function followGatewayFile(
  source: GatewaySource,
  { signal, apply, onRefused }: FollowOptions,
): Promise<void> {
  const requests = new ReloadRequests();
  using _watch = watchFile(source.path, () => requests.add('check'));
  using _hangUp = onHangUp(() => requests.add('reload'));
  // It may have changed since it was read.
  requests.add('check');
  let seen = source.digest;
  for await (const request of requests.until(signal)) {
    const digest = await settledDigest(source, seen, signal);
    if (signal.aborted || (request === 'check' && digest === seen)) continue;
    seen = digest;
    try {
      await apply(source.load());
    } catch (thrown) {
      onRefused(problemsOf(thrown));
    }
  }
}

/** How long a changed text must stay as it is, so that a file that is being written is not read in part. */
const settleMs = 200;

/** The text's digest once it has stopped changing. */
async function settledDigest(source: GatewaySource, seen: string, signal: AbortSignal): Promise<string> {
  let digest = digestOf(source);
  while (digest !== seen && !signal.aborted) {
    await sleep(settleMs, undefined, { signal, ref: false }).catch(() => undefined);
    const later = digestOf(source);
    if (later === digest) break;
    digest = later;
  }
  return digest;
}

/** A file that can't be read is told apart by the reason. */
function digestOf(source: GatewaySource): string {
  try {
    return source.digestNow();
  } catch (thrown) {
    return problemsOf(thrown).join();
  }
}

/** The words of other errors may hold what they are about, such as a credential. */
function problemsOf(thrown: unknown): readonly string[] {
  if (thrown instanceof ConfigError) return thrown.problems;
  return [`it could not be taken over: ${thrown instanceof Error ? thrown.name : typeof thrown}`];
}
