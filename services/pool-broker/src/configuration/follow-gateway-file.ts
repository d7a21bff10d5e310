import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { ConfigError, type GatewayConfig, type GatewaySource } from '@gateway/config';
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
  let seen = source.digest;
  for await (const request of reloadRequests(source.path, signal)) {
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

/** `check`: the file may have changed. `reload`: read it whether it has or not. However often it was requested meanwhile, once. */
async function* reloadRequests(path: string, signal: AbortSignal): AsyncGenerator<'check' | 'reload'> {
  const requests = new EventEmitter();
  // It may have changed since it was read.
  let waiting: 'check' | 'reload' | undefined = 'check';
  const add = (request: 'check' | 'reload') => {
    if (waiting !== 'reload') waiting = request;
    requests.emit('request');
  };
  using _watch = watchFile(path, () => add('check'));
  const onHangUp = () => add('reload');
  // At a terminal the signal means that the terminal is gone, and the process ends with it.
  if (!isatty(0)) process.on('SIGHUP', onHangUp);
  try {
    while (!signal.aborted) {
      const request = waiting;
      waiting = undefined;
      if (request === undefined) await once(requests, 'request', { signal }).catch(() => undefined);
      else yield request;
    }
  } finally {
    process.off('SIGHUP', onHangUp);
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

/** A file that can't be read is recognised by the reason. */
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
