import { onTestFinished, vi } from 'vitest';

/** Captures what the rest of a test writes to standard output and standard error. */
export class RememberingTerminal {
  printed = '';
  readonly notes: string[] = [];

  constructor() {
    const printing = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      this.printed += text;
      return true;
    });
    const noting = vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
      this.notes.push(String(text).trimEnd());
      return true;
    });
    onTestFinished(() => {
      printing.mockRestore();
      noting.mockRestore();
    });
  }

  get lines(): readonly string[] {
    return this.printed.trimEnd().split('\n');
  }
}
