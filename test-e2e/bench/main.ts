import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runBench } from './bench.ts';
import { readOptions, usage } from './options.ts';
import { tableOf } from './report/table.ts';

// What the gateway costs, beside nginx as the lower bound: see docs/develop/performance.md.

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) {
  process.on(signal, () => {
    // The second signal exits at once: other processes end when this one is gone.
    if (interrupted.signal.aborted) process.exit(130);
    process.stderr.write('bench: stopping what was started\n');
    interrupted.abort(new Error('interrupted'));
  });
}

try {
  if (process.argv[2] === 'ledger') {
    await import('./ledger.ts');
    process.exit();
  }
  if (process.argv[2] === 'console') {
    await import('./console.ts');
    process.exit();
  }
  if (process.argv[2] === 'request-log') {
    await import('./request-log.ts');
    process.exit();
  }
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') process.stdout.write(usage);
  else {
    await mkdir(options.outputFolder, { recursive: true });
    const results = await runBench(options, interrupted.signal);
    if (results !== undefined) {
      const file = (name: string) => join(options.outputFolder, name);
      await writeFile(file('results.json'), `${JSON.stringify(results, undefined, 2)}\n`);
      process.stdout.write(`${tableOf(results)}\n`);
    }
  }
} catch (thrown) {
  process.stderr.write(`bench: ${thrown instanceof Error ? thrown.message : String(thrown)}\n`);
  process.exitCode = interrupted.signal.aborted ? 130 : 1;
}
process.exit();
