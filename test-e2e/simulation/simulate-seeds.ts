import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';

// Runs the simulation for many seeds, each in a process of its own, and names those that fail.
//
//   npm run simulate:seeds -- --from 1 --to 500 --hours 0.167 --faults all

const { values } = parseArgs({
  options: {
    from: { type: 'string', default: '1' },
    to: { type: 'string', default: '100' },
    hours: { type: 'string', default: '0.167' },
    faults: { type: 'string', default: 'all' },
    processes: { type: 'string', default: String(availableParallelism()) },
  },
});

const [from, to] = [Number(values.from), Number(values.to)];
const seeds = Array.from({ length: to - from + 1 }, (_, index) => from + index);
const failing: number[] = [];
const startedAtMs = Date.now();
let done = 0;
const waiting = seeds.values();
await Promise.all(Array.from({ length: Number(values.processes) }, work));
print(`${seeds.length} seeds in ${Math.round((Date.now() - startedAtMs) / 1_000)} s, ${failing.length} failed`);
if (failing.length > 0) {
  print(
    '',
    'Repeat one with npm run simulate. Once its fault is mended, add it to test-e2e/simulation/regressions.txt:',
  );
  print(...failing.map((seed) => `--seed ${seed} --hours ${values.hours} --faults ${values.faults}`));
}
process.exit(failing.length > 0 ? 1 : 0);

/** Runs one seed after the other. All workers take from the same seeds. */
async function work(): Promise<void> {
  for (const seed of waiting) {
    const { hasFailed, printed } = await run(seed);
    done += 1;
    if (hasFailed) {
      failing.push(seed);
      print(`seed ${seed} failed:`, printed.trimEnd());
    }
    if (done % 50 === 0) print(`${done} of ${seeds.length} seeds, ${failing.length} failed`);
  }
}

/** A process that crashes has failed too. */
function run(seed: number): Promise<{ readonly hasFailed: boolean; readonly printed: string }> {
  const program = join(import.meta.dirname, 'simulate.ts');
  const options = ['--seed', String(seed), '--hours', values.hours, '--faults', values.faults, '--no-shrink'];
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...options], { maxBuffer: 2 ** 28 }, (failure, stdout, stderr) => {
      resolve({ hasFailed: failure !== null, printed: failure === null ? stdout : `${stdout}${stderr}` });
    });
  });
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
