import { execFile } from 'node:child_process';
import { z } from 'zod';
import type { Place } from './suite.ts';

/**
 * The output of a suite's program, which has the settings of this machine's PATH and its own alone.
 * Suites exit with an error when a check fails, so the exit code says nothing.
 * @throws Error if the program can't be run or is ended.
 */
export async function runProgram(
  program: string,
  parameters: readonly string[],
  { home, signal, url, token }: Place,
): Promise<string> {
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR: home, GATEWAY_URL: url, GATEWAY_TOKEN: token };
  return new Promise((resolve, reject) => {
    execFile(program, parameters, { cwd: home, env, signal, maxBuffer: 64 << 20 }, (error, stdout, stderr) => {
      if (error === null || typeof error.code === 'number') resolve(`${stdout}\n${stderr}`);
      else reject(error);
    });
  });
}

/** The lines of an output that a driver wrote as JSON, each after this mark. */
export function markedLines<Line>(output: string, schema: z.ZodType<Line>): readonly Line[] {
  const lines = output.split('\n').filter((line) => line.startsWith(mark));
  return lines.map((line) => schema.parse(JSON.parse(line.slice(mark.length))));
}

const mark = 'finding ';

export const finding = z.strictObject({
  check: z.string(),
  outcome: z.enum(['kept', 'failed', 'skipped']),
  found: z.string(),
});
