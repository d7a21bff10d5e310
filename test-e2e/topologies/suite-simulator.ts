import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { z } from 'zod';
import { responsesModels } from './gateway-file.ts';

/** What a gateway of the suite sent to an account of a provider. */
export const sentRequest = z.strictObject({
  account: z.string(),
  path: z.string(),
  /** It has a header for features that are not released. */
  isBeta: z.boolean(),
  body: z.unknown(),
});
export type SentRequest = z.infer<typeof sentRequest>;

/**
 * The simulator of a topology. If `SENT_REQUESTS` names a folder, disposal writes the requests that
 * were sent to it there, as lines of JSON.
 */
export async function startSuiteSimulator(name: string): Promise<Simulator> {
  const simulator = await startSimulator({ responsesModels });
  const folder = process.env.SENT_REQUESTS;
  if (folder === undefined) return simulator;
  return {
    ...simulator,
    [Symbol.asyncDispose]: async () => {
      await using _ = simulator;
      await writeRequests(join(folder, `${name}.jsonl`), simulator);
    },
  };
}

async function writeRequests(file: string, simulator: Simulator): Promise<void> {
  await mkdir(join(file, '..'), { recursive: true });
  const sent = simulator
    .requests()
    .filter(({ method, json }) => method === 'POST' && json !== undefined)
    .map(
      ({ account, path, headers, json }): SentRequest => ({
        account: account ?? '',
        path,
        isBeta: headers['anthropic-beta'] !== undefined,
        body: json,
      }),
    );
  await writeFile(file, sent.map((request) => `${JSON.stringify(request)}\n`).join(''));
}
