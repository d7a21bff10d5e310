import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { roomSeconds } from '@gateway/testkit/room';

/** How long a lease lasts that is not renewed: shorter than the streams of the tests. */
export const leaseTtlSeconds = roomSeconds(3);

/** Settings under which streams reach their limits within a test. */
export const streamLimitSettings = {
  WRITE_STALL_SECONDS: String(roomSeconds(3)),
  MAX_STREAM_SECONDS: String(roomSeconds(15)),
  UPSTREAM_IDLE_TIMEOUT_SECONDS: String(roomSeconds(3)),
} as const;

/**
 * Pools of one account and one test each, all at the simulator, which distinguishes accounts by
 * their credential: `<pool>-a`.
 */
const pools = [
  { name: 'responses', format: 'responses' },
  { name: 'messages', format: 'messages' },
  { name: 'capped', format: 'messages', cap: 1 },
] as const;

/** Writes the gateway.yaml of the tests of slow or long streams, and returns its path. */
export async function writeStreamLimitsFile(folder: string, simulatorUrl: string): Promise<string> {
  const lines = [
    'pools:',
    ...pools.map(
      ({ name, format }) =>
        `  ${name}: { format: ${format}, owned_by: ${format === 'responses' ? 'provider_a' : 'provider_b'}, base_url: "${simulatorUrl}/v1" }`,
    ),
    'accounts:',
    ...pools.map(({ name, format, ...limits }) => {
      const key = format === 'responses' ? 'bearer' : 'api_key';
      const cap = 'cap' in limits ? `, max_concurrency: ${limits.cap}` : '';
      return `  - { pool: ${name}, name: a, credential: { ${key}: ${name}-a }${cap} }`;
    }),
    'classes:',
    '  sterk: { name: Sterk, effort: low, candidates: [responses/gpt-5.5] }',
    '  claude: { name: Claude, effort: low, candidates: [messages/claude-sonnet-5] }',
    '  capped: { name: Capped, effort: low, candidates: [capped/claude-sonnet-5] }',
    'settings:',
    `  lease_ttl_seconds: ${leaseTtlSeconds}`,
    '',
  ];
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, lines.join('\n'));
  return path;
}
