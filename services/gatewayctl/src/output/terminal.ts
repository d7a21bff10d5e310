/** Where a command writes. */
export interface Terminal {
  /** Writes to standard output, and resolves when there is room for more. */
  print(text: string): Promise<void>;
  /** Writes a line to standard error: progress, and what is not the result. */
  note(line: string): void;
}

/** The process's own output. A reader that has seen enough (`| head`) ends the command without an error. */
export function processTerminal(): Terminal {
  process.stdout.on('error', (failure) => {
    if ('code' in failure && failure.code === 'EPIPE') process.exit(0);
  });
  return {
    print: (text) =>
      new Promise((resolve, reject) => {
        process.stdout.write(text, (failure) => (failure == null ? resolve() : reject(failure)));
      }),
    note: (line) => {
      process.stderr.write(`${line}\n`);
    },
  };
}
