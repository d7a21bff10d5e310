import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Pools of one test each, so that what one test does to its accounts is not felt by another. All are at the simulator,
 * which tells accounts apart by their credential: `<pool>-<letter>`.
 */
const scenarioPools = [
  { name: 'rotating', format: 'responses', accounts: ['a', 'b'] },
  { name: 'down', format: 'responses', accounts: ['a'] },
  { name: 'backup', format: 'messages', accounts: ['a'] },
  { name: 'exhausted', format: 'responses', accounts: ['a', 'b'] },
  { name: 'breaking', format: 'responses', accounts: ['a'] },
  { name: 'sticky', format: 'responses', accounts: ['a', 'b', 'c'] },
  { name: 'rejecting', format: 'responses', accounts: ['a', 'b'] },
] as const;

const classes: Readonly<Record<string, readonly string[]>> = {
  sterk: ['responses/gpt-5.5', 'messages/claude-opus-4-8'],
  snel: ['responses/gpt-5.5-mini', 'messages/claude-haiku-4-5'],
  claude: ['messages/claude-sonnet-5'],
  rotating: ['rotating/gpt-5.5'],
  failover: ['down/gpt-5.5', 'backup/claude-sonnet-5'],
  exhausted: ['exhausted/gpt-5.5'],
  breaking: ['breaking/gpt-5.5'],
  sticky: ['sticky/gpt-5.5'],
  rejecting: ['rejecting/gpt-5.5'],
};

/** Writes a gateway.yaml for the suite and gives its path. */
export async function writeGatewayFile(folder: string, simulatorUrl: string): Promise<string> {
  const pools = [
    { name: 'responses', format: 'responses', accounts: ['a', 'b'] },
    { name: 'messages', format: 'messages', accounts: ['a', 'b'] },
    ...scenarioPools,
  ];
  const lines = [
    'pools:',
    ...pools.map(
      ({ name, format }) =>
        `  ${name}: { format: ${format}, owned_by: ${format === 'responses' ? 'provider_a' : 'provider_b'}, base_url: "${simulatorUrl}/v1" }`,
    ),
    'accounts:',
    ...pools.flatMap(({ name, format, accounts }) =>
      accounts.map(
        (letter) =>
          `  - { pool: ${name}, name: ${letter}, credential: { ${format === 'responses' ? 'bearer' : 'api_key'}: ${name}-${letter} } }`,
      ),
    ),
    'classes:',
    ...Object.entries(classes).map(
      ([id, candidates]) => `  ${id}: { name: ${id}, effort: low, candidates: [${candidates.join(', ')}] }`,
    ),
    '',
  ];
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, lines.join('\n'));
  return path;
}
