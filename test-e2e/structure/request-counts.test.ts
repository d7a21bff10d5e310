import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { measureCounts } from '../bench/counts/measure-counts.ts';
import { mostOf } from '../bench/counts/most-counts.ts';
import { OwnProcess } from '../bench/processes/own-process.ts';

describe('a small request in one process', () => {
  // On a busy machine, more periodic work of a gateway falls between two requests.
  it('does no more work than was agreed', { retry: 2 }, async () => {
    const provider = await OwnProcess.start(
      process.execPath,
      [join(import.meta.dirname, '../bench/provider/main.ts')],
      { ipc: true },
    );
    onTestFinished(() => provider[Symbol.asyncDispose]());
    // Its only message.
    const { port } = (await provider.message()) as { readonly port: number };
    for (const row of await measureCounts(port)) {
      const most = mostOf(row.case);
      const more = Object.entries(most).filter(([count, limit]) => row.counts[count as keyof typeof most] > limit);
      expect(more, `${row.case} counts ${JSON.stringify(row.counts)}`).toEqual([]);
    }
  });
});
