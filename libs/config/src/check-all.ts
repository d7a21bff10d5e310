import { ConfigError } from './config-error.ts';

/**
 * Runs all of these checks, which read settings and what settings name, before anything starts.
 *
 * @throws one ConfigError with the problems of all, each once, so that a person mends them in one go.
 */
export async function checkAll(checks: readonly (() => unknown)[]): Promise<void> {
  const problems = await Promise.all(checks.map(problemsOf));
  const all = new Set(problems.flat());
  if (all.size > 0) throw new ConfigError([...all]);
}

async function problemsOf(check: () => unknown): Promise<readonly string[]> {
  try {
    await check();
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
}
