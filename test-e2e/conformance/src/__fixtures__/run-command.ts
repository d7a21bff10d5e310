import { vi } from 'vitest';
import { conformanceCommand } from '../command/command.ts';
import { exitCodeOf, failureText } from '../command/failures.ts';

/** Runs `gateway-conformance <args>` to its end in this process, and returns its output. */
export async function runCommand(...args: readonly string[]) {
  let printed = '';
  let notes = '';
  using _printing = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
    printed += text;
    return true;
  });
  using _noting = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    notes += text;
    return true;
  });
  let exitCode = 0;
  try {
    await conformanceCommand().parseAsync(args, { from: 'user' });
  } catch (thrown) {
    exitCode = exitCodeOf(thrown);
    notes += failureText(thrown);
  }
  return {
    ...{ exitCode, printed, notes: notes.trimEnd(), lines: printed.trimEnd().split('\n') },
    json: () => JSON.parse(printed),
  };
}
