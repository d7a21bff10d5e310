import { setTimeout as sleep } from 'node:timers/promises';
import { isatty } from 'node:tty';
import { ConfigError, type GatewayConfig, type GatewaySource } from '@gateway/config';

export interface FollowOptions {
  readonly signal: AbortSignal;
  /** Goes over to what the file says now. Throws ConfigError when that is not possible. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
  readonly onRefused: (problems: readonly string[]) => void;
}

// The folder is not watched: not every file system reports changes, and a link may lead out of it.
/** Reads `gateway.yaml` again whenever its text changes, and on SIGHUP, until the signal is aborted. */
export async function followGatewayFile(
  source: GatewaySource,
  { signal, apply, onRefused }: FollowOptions,
): Promise<void> {
  let isRequested = false;
  const onHangUp = () => {
    isRequested = true;
  };
  // At a terminal the signal means that the terminal is gone, and the process ends with it.
  if (!isatty(0)) process.on('SIGHUP', onHangUp);
  let read = source.digest;
  let before = read;
  while (!signal.aborted) {
    const digest = digestOf(source);
    // A text that still changes may be one that is being written.
    if (digest === before && (isRequested || digest !== read)) {
      isRequested = false;
      read = digest;
      try {
        await apply(source.load());
      } catch (thrown) {
        onRefused(problemsOf(thrown));
      }
    }
    before = digest;
    await sleep(everyMs, undefined, { signal, ref: false }).catch(() => undefined);
  }
  process.off('SIGHUP', onHangUp);
}

const everyMs = 250;

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
