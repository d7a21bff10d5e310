/**
 * A reader that closes its pipe (`| head`) ends the command without an error. Any other failure of
 * the output, such as a full disk, ends it with one. Notes without a reader are left out.
 */
export function handleClosedOutputs(): void {
  process.stderr.on('error', () => undefined);
  process.stdout.on('error', endCommand);
}

/** For a process that serves: its work is not its output. */
export function outliveClosedOutputs(): void {
  process.stdout.off('error', endCommand).on('error', () => undefined);
}

function endCommand(failure: Error): void {
  if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
  process.stderr.write(`gatewayctl: the output can't be written: ${failure.message}\n`);
  process.exit(1);
}
