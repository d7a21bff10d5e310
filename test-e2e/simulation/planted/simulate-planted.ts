import { execFile } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { PlantedCopy, repository } from './planted-copy.ts';
import { type PlantedFault, plantedFaults } from './planted-faults.ts';

// Plants mistakes in copies of the code, one at a time, and says which ones the simulation finds.
// The same runs must break nothing in the unchanged code: they are the control of each mistake.
//
//   npm run simulate:planted
//   npm run simulate:planted -- --only midnight

const { values } = parseArgs({ options: { only: { type: 'string', default: '' } } });

const chosen = plantedFaults.filter(({ name }) => name.includes(values.only));
const waiting = chosen.values();
/** The checkers that fail in each run of the unchanged code. */
const controls = new Map<string, Promise<readonly string[]>>();
let missed = 0;
const work = async () => {
  for (const fault of waiting) {
    const result = await search(fault);
    if (!result.startsWith('found')) missed += 1;
    print(`| ${fault.name} | ${fault.checker} | ${result} |`);
  }
};
print('| planted fault | checker | result |', '| --- | --- | --- |');
await Promise.all(Array.from({ length: availableParallelism() }, work));
print('', `${chosen.length - missed} of ${chosen.length} found`);
process.exitCode = missed > 0 ? 1 : 0;

/** Which run finds the mistake first. */
async function search(fault: PlantedFault): Promise<string> {
  using copy = new PlantedCopy(fault);
  const failing = await failingControls(fault);
  if (failing.length > 0) return `without the mistake, ${failing.join('; ')}`;
  const startedMs = performance.now();
  const others = new Set<string>();
  for (const [index, run] of fault.runs.entries()) {
    const broken = await brokenBy(copy, run);
    const [seed, hours, faults] = run;
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    if (broken.includes(fault.checker))
      return `found by run ${index + 1}: seed ${seed}, ${hours} h, ${faults}; ${seconds} s; control passes`;
    for (const checker of broken) others.add(checker);
  }
  return others.size === 0 ? 'not found' : `not found; broke ${[...others].join(', ')}`;
}

/** Which runs of a fault break a promise in the unchanged code. Each run happens once. */
async function failingControls({ runs }: PlantedFault): Promise<readonly string[]> {
  const outcomes = runs.map(async (run) => {
    const broken = await controls.getOrInsertComputed(run.join(' '), () => brokenBy({ folder: repository }, run));
    return broken.length === 0 ? [] : [`${run.join(' ')} breaks ${broken.join(', ')}`];
  });
  return (await Promise.all(outcomes)).flat();
}

/** The checkers that fail in a run of the code in a folder. */
function brokenBy(
  { folder }: Pick<PlantedCopy, 'folder'>,
  [seed, hours, faults]: PlantedFault['runs'][number],
): Promise<readonly string[]> {
  const program = join(folder, 'test-e2e/simulation/simulate.ts');
  const options = ['--seed', seed, '--hours', hours, '--faults', faults, '--no-shrink'];
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [program, ...options], { maxBuffer: 2 ** 28 }, (failure, printed, said) => {
      if (!printed.includes(`seed ${seed}:`))
        return reject(new Error(`the run ended early: ${said}`, { cause: failure }));
      resolve([...printed.matchAll(/^broken (\w+):/gm)].map(([, checker = '']) => checker));
    });
  });
}

function print(...lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
