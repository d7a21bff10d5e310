import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { BenchCase } from '../bench-cases.ts';
import type { LoadGenerator } from '../load/load-generator.ts';
import { runCase } from '../measure/run-case.ts';
import type { System } from '../systems/system.ts';
import { profileProcess } from './inspector.ts';
import { selfTimes, sharesByOwner } from './self-time.ts';

const profiledMs = 6_000;
const listed = 40;

/**
 * Profiles every gateway process of a system under a case. Returns the results as text and keeps
 * the profiles.
 */
export async function profileCase(
  generator: LoadGenerator,
  system: System,
  benchCase: BenchCase,
  folder: string,
): Promise<string> {
  const warmUpMs = benchCase.kind === 'paced-stream' || benchCase.kind === 'beside-large' ? 4_500 : 12_000;
  const load = runCase(generator, system, benchCase, { warmUpMs, measureMs: profiledMs + 1_000 });
  const profiles = await Promise.all(
    [...system.inspectorPorts].map(async ([name, port]) => ({
      name,
      profile: await profileProcess(port, warmUpMs + 200, profiledMs),
    })),
  );
  const { microsByProcess } = await load;
  const texts: string[] = [];
  for (const { name, profile } of profiles) {
    const file = `${benchCase.name}-${system.name}-${name}.cpuprofile`;
    await writeFile(join(folder, file), JSON.stringify(profile));
    const micros = microsByProcess[name] ?? 0;
    // The profile of an almost idle process says nothing.
    if (micros >= 1) texts.push(textOf(`${benchCase.name}, ${system.name}, ${name}`, micros, profile));
  }
  return texts.join('\n');
}

function textOf(title: string, micros: number, profile: Parameters<typeof selfTimes>[0]): string {
  const times = selfTimes(profile);
  const cost = (share: number) =>
    `${(share * 100).toFixed(1).padStart(5)} %  ${(share * micros).toFixed(1).padStart(7)} µs`;
  return [
    `== ${title}: ${micros.toFixed(1)} µs each`,
    ...sharesByOwner(times)
      .filter(([, share]) => share >= 0.01)
      .map(([owner, share]) => `${cost(share)}  ${owner}`),
    '--',
    ...times.slice(0, listed).map(({ what, owner, share }) => `${cost(share)}  ${what}  [${owner}]`),
    '',
  ].join('\n');
}
