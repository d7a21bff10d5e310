import { ConfigError } from '@gateway/config/env-reader';

/** Ends a process that could not start, and explains the failure on standard error. */
export function endFailedStart(name: string, thrown: unknown): void {
  process.stderr.write(`${startFailureText(name, thrown)}\n`);
  endFailedProcess();
}

/** A start that failed in another process, with that process's message. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure';
}

/** Tells the person who started the process what is wrong and what to do. */
export function startFailureText(name: string, thrown: unknown): string {
  if (thrown instanceof ConfigError) {
    return [`${name} can't start:`, ...thrown.problems.map((problem) => `  - ${problem}`)].join('\n');
  }
  if (thrown instanceof StartFailure) return thrown.message;
  if (thrown instanceof Error && 'code' in thrown && thrown.code === 'EADDRINUSE') {
    const { address = 'the address', port = '' } = thrown as { readonly address?: string; readonly port?: number | '' };
    return `${name} can't start: ${address}:${port} is in use by another process. Stop it, or choose another port (PORT, ADMIN_PORT, GRPC_PORT).`;
  }
  return `${name} can't start: ${thrown instanceof Error ? thrown.message : String(thrown)}`;
}

/**
 * Ends a failed process with exit code 1. It falls back to SIGKILL because a system call that hangs
 * blocks even `process.exit()`.
 */
export function endFailedProcess(): void {
  process.exitCode = 1;
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs).unref();
}

const graceMs = 2_000;
