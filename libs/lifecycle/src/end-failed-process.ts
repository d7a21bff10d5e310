/**
 * Ends a process that can't do its work, with an exit code that says so. It ends as soon as nothing is under way; a call that
 * hangs in the operating system, such as one on a mount that is out of reach, would keep it for ever, even through
 * `process.exit()`: after a while it is killed.
 */
export function endFailedProcess(): void {
  process.exitCode = 1;
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), graceMs).unref();
}

const graceMs = 2_000;
