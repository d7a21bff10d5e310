import { parseArgs } from 'node:util';
import { chosenKinds, type Fault } from './faults.ts';
import { smallestFailing } from './shrink.ts';
import { simulate } from './simulation.ts';

// Runs a whole gateway on simulated time, from a seed, and holds it to its promises.
//
//   npm run simulate -- --seed 7 --hours 24 --faults all
//   npm run simulate -- --seed 7 --hours 0.1 --faults kill,cut --story
//
// `--only 3,8` repeats a run with a part of its faults. `--no-shrink` leaves a failure as it is.

const { values } = parseArgs({
  allowNegative: true,
  options: {
    seed: { type: 'string', default: '1' },
    hours: { type: 'string', default: '1' },
    faults: { type: 'string', default: 'all' },
    only: { type: 'string' },
    story: { type: 'boolean', default: false },
    shrink: { type: 'boolean', default: true },
  },
});

const startedCpu = process.cpuUsage();
const { seed, hours, faults: names } = values;
const result = await simulate({
  seed,
  durationMs: Number(hours) * 3_600_000,
  kinds: chosenKinds(names),
  only: values.only?.split(',').map(Number),
});
if (values.story) print(...result.story);
for (const { checker, promise, findings } of result.broken) {
  print(`broken ${checker}: ${promise}`, ...findings.slice(0, 5).map((finding) => `  ${finding}`));
  if (findings.length > 5) print(`  and ${findings.length - 5} more`);
}
const counts = `${result.requests.length} requests, ${result.faults.length} faults, ${result.events} events`;
print(`seed ${seed}: ${counts}, digest ${result.digest}`);
printSpeed();
if (result.broken.length > 0 && values.shrink && result.faults.length > 0) await shrink();
process.exit(result.broken.length > 0 ? 1 : 0);

/**
 * Finds the shortest time and the fewest faults that still break the same promise, each try in a
 * process of its own.
 */
async function shrink(): Promise<void> {
  const [first] = result.broken;
  const smallest = await smallestFailing(
    result.faults.map(({ number }) => number),
    { seed, hours: Number(hours), kinds: names, checker: first?.checker ?? '' },
  );
  const { faults, hours: shorter } = smallest;
  print(
    `smallest: --hours ${shorter} --only ${faults.join(',') || '0'}`,
    ...result.faults.filter(({ number }) => faults.includes(number)).map(line),
  );
}

function line({ number, kind, atMs, forMs, target, other }: Fault): string {
  return `  ${number}: ${kind} of ${target} (${other}) after ${atMs / 1_000} s, for ${forMs} ms`;
}

/** Not on standard output, which is the same for the same seed. */
function printSpeed(): void {
  const { user, system } = process.cpuUsage(startedCpu);
  const cpuSeconds = (user + system) / 1e6;
  const speed = Math.round(result.simulatedMs / 1_000 / cpuSeconds);
  process.stderr.write(`${cpuSeconds.toFixed(1)} s of processor time, ${speed} times faster than the world\n`);
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
