import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { isatty } from 'node:tty';
import { sleep } from '@gateway/time';
import { ConfigError, type Environment } from './env-reader.ts';
import { resolveEnvReferences } from './env-references.ts';
import type { GatewayConfig, GatewaySource } from './gateway-config.ts';
import { problemsBetweenParts } from './gateway-problems.ts';
import { gatewayFileSchema } from './gateway-schema.ts';
import { parseYaml } from './gateway-yaml.ts';
import { schemaProblems } from './schema-problems.ts';
import { asWritten } from './written-gateway.ts';

/**
 * Reads `gateway.yaml`.
 * @throws one ConfigError with every problem and its path; no problem repeats a credential or a
 *   line of the file.
 */
export function loadGatewayFile(path: string, env: Environment): GatewayConfig {
  const text = readText(path);
  const source = {
    path,
    digest: digestOf(text),
    digestNow: () => digestOf(readText(path)),
    load: () => loadGatewayFile(path, env),
  };
  return { ...parseGatewayFile(text, path, env), source };
}

/** Parses a text as the `gateway.yaml` at that path. @throws as `loadGatewayFile`. */
export function parseGatewayFile(text: string, path: string, env: Environment): GatewayConfig {
  const { document, value: written } = parseYaml(text, path);
  const { value, problems } = resolveEnvReferences(written, env);
  const parsed = gatewayFileSchema.safeParse(value);
  const all = [
    ...[...problems].map(([place, text]) => `${place}: ${text}`),
    ...schemaProblems(parsed.error?.issues ?? [], problems).map(({ place, text }) => `${place || 'the file'}: ${text}`),
    ...problemsBetweenParts(value, problems),
  ];
  if (all.length > 0 || !parsed.success) throw new ConfigError(all);
  return { ...parsed.data, source: undefined, written: asWritten(text, document, written) };
}

interface FollowOptions {
  readonly signal: AbortSignal;
  /** Switches to the file's current content. Throws ConfigError when that is not possible. */
  readonly apply: (gateway: GatewayConfig) => Promise<void>;
  readonly onRefused: (problems: readonly string[]) => void;
}

/**
 * Reads `gateway.yaml` again whenever its text changes, and on SIGHUP, until the signal is aborted.
 * The file is polled, because not every file system reports changes, and a symbolic link may point
 * outside a watched folder.
 */
export async function followGatewayFile(
  source: GatewaySource,
  { signal, apply, onRefused }: FollowOptions,
): Promise<void> {
  let isRequested = false;
  const onHangUp = () => {
    isRequested = true;
  };
  // At a terminal, SIGHUP means that the terminal was closed, and the process must end with it.
  if (!isatty(0)) process.on('SIGHUP', onHangUp);
  let read = source.digest;
  let before = read;
  while (!signal.aborted) {
    const digest = digestOrProblem(source);
    // A text that is still changing may be half written.
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
    await sleep(everyMs, { signal, ref: false }).catch(() => undefined);
  }
  process.off('SIGHUP', onHangUp);
}

const everyMs = 250;

/** A file that can't be read is identified by the reason. */
function digestOrProblem(source: GatewaySource): string {
  try {
    return source.digestNow();
  } catch (thrown) {
    return problemsOf(thrown).join();
  }
}

/** The messages of other errors may contain what they are about, such as a credential. */
function problemsOf(thrown: unknown): readonly string[] {
  if (thrown instanceof ConfigError) return thrown.problems;
  return [`it could not be applied: ${thrown instanceof Error ? thrown.name : typeof thrown}`];
}

function digestOf(text: string): string {
  return hash('sha256', text);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (thrown) {
    const reason = thrown instanceof Error && 'code' in thrown ? ` (${String(thrown.code)})` : '';
    throw new ConfigError([`${path}: the file can't be read${reason}. GATEWAY_CONFIG names it.`]);
  }
}
