import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Pools with one fault each, with a class of the same name. All are at the simulator, which
 * distinguishes accounts by their credential: `<pool>-<letter>`.
 */
const pools = [
  { name: 'responses', format: 'responses', accounts: 'ab' },
  { name: 'messages', format: 'messages', accounts: 'ab' },
  { name: 'limited', format: 'responses', accounts: 'ab' },
  { name: 'exhausted', format: 'responses', accounts: 'a' },
  { name: 'overloaded', format: 'messages', accounts: 'ab' },
  { name: 'revoked', format: 'messages', accounts: 'ab' },
  { name: 'draining', format: 'messages', accounts: 'ab' },
  { name: 'running-dry', format: 'messages', accounts: 'a' },
  { name: 'traced', format: 'responses', accounts: 'ab' },
  { name: 'unlisted', format: 'messages', accounts: 'a' },
] as const;

const models = { responses: 'gpt-5.5', messages: 'claude-sonnet-5' } as const;

/**
 * The refresh token of the pool `granted`, whose account gets its access token from the simulator.
 * The simulator must know it.
 */
export const grantOfTests = { account: 'granted-a', refreshToken: 'refresh-token-of-tests' } as const;

/**
 * Writes the gateway.yaml of an observed gateway, and returns its path. `either` moves from one
 * format to the other. The models of `unlisted` are unknown, so that it gets requests for any name
 * that clients send.
 */
export async function writeObservedGatewayFile(folder: string, simulatorUrl: string): Promise<string> {
  const fault = { account: 'unlisted-a', path: '/v1/models', fault: { kind: 'status', status: 500 } };
  await fetch(`${simulatorUrl}/_simulator/faults`, { method: 'POST', body: JSON.stringify(fault) });
  const addressed = (format: keyof typeof models) =>
    `format: ${format}, owned_by: ${format === 'responses' ? 'provider_a' : 'provider_b'}, base_url: "${simulatorUrl}/v1"`;
  const oauth = `{ token_url: "${simulatorUrl}/oauth/token", client_id: gateway, refresh_token: ${grantOfTests.refreshToken} }`;
  const lines = [
    'settings: { model_list_refresh_seconds: 2 }',
    'pools:',
    ...pools.map(({ name, format }) => `  ${name}: { ${addressed(format)} }`),
    `  granted: { ${addressed('messages')} }`,
    'accounts:',
    ...pools.flatMap(({ name, format, accounts }) =>
      [...accounts].map((letter) => {
        const key = format === 'responses' ? 'bearer' : 'api_key';
        const state = name === 'draining' && letter === 'b' ? ', state: draining' : '';
        return `  - { pool: ${name}, name: ${letter}, credential: { ${key}: ${name}-${letter} }${state} }`;
      }),
    ),
    `  - { pool: granted, name: a, credential: { oauth: ${oauth} } }`,
    'classes:',
    ...pools.map(({ name, format }) => classLine(name, [`${name}/${models[format]}`])),
    classLine('granted', [`granted/${models.messages}`]),
    classLine('either', [`exhausted/${models.responses}`, `messages/${models.messages}`]),
    '',
  ];
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, lines.join('\n'));
  return path;
}

function classLine(id: string, candidates: readonly string[]): string {
  return `  ${id}: { name: ${id}, effort: low, candidates: [${candidates.join(', ')}] }`;
}
