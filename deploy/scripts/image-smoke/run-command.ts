import { spawn } from 'node:child_process';

export interface CommandOptions {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly env?: NodeJS.ProcessEnv;
  /** Its output is shown as it comes, and not kept. */
  readonly show?: boolean;
}

/**
 * The standard output of a command. @throws Error with its last lines unless it exits with status 0
 * in time.
 */
export async function runCommand(
  command: string,
  parameters: readonly string[],
  { signal, timeoutMs, env = process.env, show = false }: CommandOptions,
): Promise<string> {
  const deadline = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]);
  const stdio = show ? 'inherit' : 'pipe';
  const child = spawn(command, parameters, { stdio: ['ignore', stdio, stdio], env, signal: deadline });
  let printed = '';
  let all = '';
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    printed += text;
    all += text;
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    all += text;
  });
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  // An abort is an error at once; the caller waits for the end.
  let failure: Error | undefined;
  child.on('error', (error) => {
    failure = error;
    if (child.pid === undefined) reject(error);
  });
  child.on('close', (code) => {
    if (code === 0 && failure === undefined) return resolve();
    const how = deadline.aborted ? `was stopped (${deadline.reason})` : `ended with ${code}`;
    const lines = all.trimEnd().split('\n').slice(-40).join('\n');
    reject(new Error(`${command} ${parameters[0] ?? ''} ${how}\n${lines}`));
  });
  await promise;
  return printed;
}

const startedMs = performance.now();

/** A line for the user, with the seconds since the start. */
export function say(text: string): void {
  const seconds = Math.round((performance.now() - startedMs) / 1_000);
  process.stdout.write(`${String(seconds).padStart(4)} s  ${text}\n`);
}
