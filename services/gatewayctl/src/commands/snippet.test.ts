import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { AccountState, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const pools = [
  { pool: { name: 'responses', format: ProviderFormat.RESPONSES }, accounts: [] },
  {
    pool: { name: 'messages', format: ProviderFormat.MESSAGES },
    accounts: [{ name: 'a', state: AccountState.AVAILABLE }],
  },
];
const classes = [{ id: 'gateway/claude', effort: 'medium', candidates: ['messages/claude-sonnet-5'] }];

describe('gatewayctl snippet', () => {
  const run = (...args: string[]) => runWith(pools, ...args);
  const runWith = (served: typeof pools, ...args: string[]) =>
    new CommandLine((router) => {
      router.service(PoolService, { listPools: () => ({ overview: { pools: served, classes } }) });
      router.service(ConfigurationService, {
        getConfiguration: () => ({ settings: [{ service: 'gateway', name: 'PORT', value: '8081' }] }),
      });
    }).run('snippet', ...args);

  it('prints the settings of a client alone, with the port and a model of the gateway', async () => {
    expect(await run('claude-code')).toMatchObject({
      exitCode: 0,
      printed: `export ANTHROPIC_BASE_URL=http://127.0.0.1:8081\nexport ANTHROPIC_AUTH_TOKEN="$GATEWAY_TOKEN"\nclaude --model gateway/claude\n`,
      notes: expect.stringContaining('# for a shell, with a token in GATEWAY_TOKEN.'),
    });
  });

  it("uses the clients' address", async () => {
    const { printed } = await run('openai-python', '--url', 'https://gateway.example/');
    expect(printed).toContain('base_url="https://gateway.example/v1"');
  });

  it('lists the clients that the gateway can serve', async () => {
    const { lines } = await run();
    expect(lines[0]).toMatch(/^snippet +client +file$/);
    expect(lines.join('\n')).toMatch(/^claude-code +Claude Code +shell$/m);
    // No class has a candidate in a pool that speaks Responses.
    expect(lines.join('\n')).not.toContain('codex');
  });

  it('says what is missing for a client that no account can serve', async () => {
    const codex = await run('codex');
    expect(codex).toMatchObject({ exitCode: 1, printed: '' });
    expect(codex.notes).toContain('no account can serve codex, which needs an account in a pool with the format');
    expect(codex.notes).toContain('Add one with gatewayctl account add');
    for (const args of [[], ['curl']]) {
      expect(await runWith([], ...args)).toMatchObject({
        ...{ exitCode: 1, printed: '' },
        notes: expect.stringContaining('no account can serve a model. Add one with'),
      });
    }
  });

  it('lists all clients if one is unknown', async () => {
    const { exitCode, notes } = await run('telnet');
    expect(exitCode).toBe(2);
    expect(notes).toContain('no snippet for telnet. Available: curl, openai-typescript');
  });
});
