import type { ChildProcess } from 'node:child_process';
import { Socket } from 'node:net';
import { createInterface } from 'node:readline';

const keptLines = 60;

/** What a process prints, line by line. Keeps the latest lines for error messages. */
export class OutputLines {
  readonly #kept: string[] = [];
  readonly #onLine: ((line: string) => void) | undefined;

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** Reads both outputs of a child, without keeping this process alive for it. */
  read(child: ChildProcess): void {
    for (const output of [child.stdout, child.stderr]) {
      if (output === null) continue;
      createInterface({ input: output, crlfDelay: Number.POSITIVE_INFINITY }).on('line', (line) => this.#add(line));
      if (output instanceof Socket) output.unref();
    }
  }

  latest(): string {
    return this.#kept.join('\n');
  }

  #add(line: string): void {
    this.#kept.push(line);
    if (this.#kept.length > keptLines) this.#kept.shift();
    this.#onLine?.(line);
  }
}
