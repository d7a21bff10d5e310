import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const program = join(import.meta.dirname, 'simulate.ts');

/** Each run has a process of its own: it replaces parts of Node. */
async function simulate(...options: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...options], { maxBuffer: 2 ** 28 }).catch(
    (failed: { readonly stdout: string }) => failed,
  );
  return stdout;
}

/** Lines of `seed hours faults`, each with the reason why it is there after a `#`. */
const regressions = readFileSync(join(import.meta.dirname, 'regressions.txt'), 'utf8')
  .split('\n')
  .map((line) => line.replace(/\s*#.*/, '').split(/\s+/))
  .filter(([seed]) => seed !== '');

describe('a simulated gateway', () => {
  it('runs the same, byte for byte, from the same seed', async () => {
    const options = ['--seed', 'twice', '--hours', '0.01', '--faults', 'all', '--story'];
    const once = await simulate(...options);
    expect(once).toContain('/v1/chat/completions');
    expect(await simulate(...options)).toBe(once);
  });

  it.each(regressions)('keeps every promise with seed %s for %s hours and faults %s', async (seed, hours, faults) => {
    const options = ['--seed', String(seed), '--hours', String(hours), '--faults', String(faults)];
    const printed = await simulate(...options, '--no-shrink');
    expect(printed).not.toContain('broken');
    expect(printed).toContain(`seed ${seed}`);
  });
});
