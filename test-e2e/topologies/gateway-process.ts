import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { programOf } from '@gateway/testkit';
import { roomMs } from '@gateway/testkit/room';
import { operatorEnvironment } from './certificates.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface FinishedCommand {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A command that runs until it is stopped. */
export interface RunningCommand extends AsyncDisposable {
  readonly pid: number;
  readonly child: ChildProcess;
  stdout(): string;
  stderr(): string;
  /** Resolves when the command has ended by itself or by a signal. */
  readonly ended: Promise<FinishedCommand>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts `gatewayctl <args>` with only the given settings, and none of this process. */
export function startGatewayctl(args: readonly string[], env: Readonly<Record<string, string>>): RunningCommand {
  return startCommand(process.execPath, [programOf('gatewayctl'), ...args], {
    ...operatorEnvironment(),
    ...env,
  });
}

/** Starts `npm run <script> -- <args>`, in a process group of its own as in a terminal. */
export function startNpmScript(
  script: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[] = [],
): RunningCommand {
  return startCommand('npm', ['run', script, '--', ...args], env, { detached: true });
}

/**
 * Starts a program with only the given settings, and none of this process. Disposing stops it,
 * finally by force.
 */
export function startCommand(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  { detached = false, ipc = false, stopTimeoutMs = roomMs(10_000), onStderrLine }: CommandOptions = {},
): RunningCommand {
  const { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE } = process.env;
  const child = spawn(program, args, {
    cwd: root,
    env: { PATH, HOME, TMPDIR, NODE_COMPILE_CACHE, ...env },
    stdio: ['ignore', 'pipe', 'pipe', ...(ipc ? (['ipc'] as const) : [])],
    detached,
  });
  const stdout = textOf(child, 'stdout');
  const stderr = textOf(child, 'stderr');
  if (onStderrLine && child.stderr) createInterface({ input: child.stderr }).on('line', onStderrLine);
  const ended = new Promise<FinishedCommand>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (exitCode) => resolve({ exitCode, stdout: stdout(), stderr: stderr() }));
  });
  return {
    pid: child.pid ?? 0,
    child,
    stdout,
    stderr,
    ended,
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      const forced = setTimeout(() => child.kill('SIGKILL'), stopTimeoutMs);
      await ended;
      clearTimeout(forced);
    },
  };
}

interface CommandOptions {
  /** In a process group of its own. */
  readonly detached?: boolean;
  /** With a channel for messages. */
  readonly ipc?: boolean;
  readonly onStderrLine?: (line: string) => void;
  readonly stopTimeoutMs?: number;
}

/** Runs `gatewayctl <args>` to its end. */
export async function gatewayctl(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<FinishedCommand> {
  return startGatewayctl(args, env).ended;
}

/** Runs `gateway-conformance <args>` to its end. */
export async function runConformance(
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<FinishedCommand> {
  return startCommand(process.execPath, ['test-e2e/conformance/src/main.ts', ...args], env).ended;
}

/**
 * Resolves when a readiness address answers 200. @throws Error with the process's output if it
 * ends, or is not ready in time.
 */
export async function untilReady(
  adminUrl: string,
  command: RunningCommand,
  timeoutMs = roomMs(120_000),
): Promise<void> {
  const giveUpAt = Date.now() + timeoutMs;
  const { child } = command;
  while (Date.now() < giveUpAt && child.exitCode === null && child.signalCode === null) {
    const ok = await fetch(`${adminUrl}/readyz`, { signal: AbortSignal.timeout(roomMs(1_000)) }).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const problem = Date.now() < giveUpAt ? 'has ended' : `is not ready after ${timeoutMs} ms`;
  throw new Error(`the gateway ${problem}\n${command.stderr()}`);
}

function textOf(child: ChildProcess, stream: 'stdout' | 'stderr'): () => string {
  let text = '';
  child[stream]?.setEncoding('utf8').on('data', (piece: string) => {
    text += piece;
  });
  return () => text;
}
