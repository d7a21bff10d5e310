import type { Terminal } from '../output.ts';

/** A terminal that remembers what was written. */
export class RememberingTerminal implements Terminal {
  printed = '';
  readonly notes: string[] = [];

  async print(text: string): Promise<void> {
    this.printed += text;
  }

  note(line: string): void {
    this.notes.push(line);
  }

  get lines(): readonly string[] {
    return this.printed.trimEnd().split('\n');
  }
}
