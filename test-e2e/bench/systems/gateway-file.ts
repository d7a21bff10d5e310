import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type BenchFormat, modelOf, type Pace, paces, providerFormats } from '../wire/bench-models.ts';

/** The class that chat completions name: it leads to one model of one provider. */
export function chatModelOf(format: BenchFormat, pace: Pace): string {
  return `gateway/${classOf(format, pace)}`;
}

export interface PoolSize {
  /** The number of accounts in each pool. */
  readonly accounts?: number;
  /** How many requests each account takes at a time; as many as come by default. */
  readonly maxConcurrency?: number;
}

/** Writes the gateway.yaml of the bench and returns its path. */
export async function writeGatewayFile(
  folder: string,
  providerPort: number,
  { accounts = 2, maxConcurrency }: PoolSize = {},
): Promise<string> {
  const baseUrl = `http://127.0.0.1:${providerPort}/v1`;
  const cap = maxConcurrency === undefined ? '' : `, max_concurrency: ${maxConcurrency}`;
  const lines = [
    'pools:',
    `  responses: { format: responses, owned_by: provider_a, base_url: "${baseUrl}" }`,
    `  messages: { format: messages, owned_by: provider_b, base_url: "${baseUrl}" }`,
    'accounts:',
    ...Array.from({ length: accounts }, (_, index) => `account-${index + 1}`).flatMap((name) => [
      `  - { pool: responses, name: ${name}${cap}, credential: { bearer: key-${name} } }`,
      `  - { pool: messages, name: ${name}${cap}, credential: { api_key: key-${name} } }`,
    ]),
    'classes:',
    ...providerFormats.flatMap((format) =>
      paces.map((pace) => {
        const id = classOf(format, pace);
        return `  ${id}: { name: ${id}, effort: low, candidates: [${format}/${modelOf(format, pace)}] }`;
      }),
    ),
    '',
  ];
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, lines.join('\n'));
  return path;
}

/** Ends like the provider's model, so that the pace is known even if no system translates. */
function classOf(format: BenchFormat, pace: Pace): string {
  return `${format}-bench-${pace}`;
}
