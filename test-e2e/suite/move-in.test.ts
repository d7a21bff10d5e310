import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { programOf } from '@gateway/testkit';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { type AllInOneTopology, startAllInOne } from '../topologies/all-in-one.ts';
import { gatewayctl, startCommand } from '../topologies/gateway-process.ts';

// The gateway and several commands are processes.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const litellmConfig = (url: string) => `
model_list:
  - model_name: strong
    litellm_params: { model: openai/gpt-5.5, api_base: "${url}/v1", api_key: sk-in-the-file, order: 1 }
  - model_name: strong
    litellm_params: { model: anthropic/claude-opus-4-8, api_base: "${url}", api_key: os.environ/CLAUDE_KEY, order: 2 }
  - model_name: claude-haiku-4-5
    litellm_params: { model: anthropic/claude-haiku-4-5, api_base: "${url}", api_key: os.environ/CLAUDE_KEY }
  - model_name: pictures
    litellm_params: { model: openai/gpt-image-2, api_base: "${url}/v1", api_key: sk-in-the-file }
router_settings:
  model_group_alias: { best: strong }
`;
const keys = {
  keys: [{ key_alias: "anna's key", team_id: 't', models: ['best', 'claude-haiku-4-5'], rpm_limit: 100 }],
};
const teams = [{ team_id: 't', team_alias: 'Team A', max_budget: 50, budget_duration: '30d' }];

describe('a gateway with an imported configuration', () => {
  let folder: string;
  let gateway: AllInOneTopology;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'gateway-move-in-'));
    const at = (name: string) => join(folder, name);
    await writeFile(at('keys.json'), JSON.stringify(keys));
    await writeFile(at('teams.json'), JSON.stringify(teams));
    const env = { OPENAI_KEY_1: 'imported-responses', CLAUDE_KEY: 'imported-messages' };
    gateway = await startAllInOne('move-in', env, async (_folder, simulatorUrl) => {
      await writeFile(at('config.yaml'), litellmConfig(simulatorUrl));
      const files = ['--out', at('gateway.yaml'), '--commands', at('tokens.sh')];
      const exports = ['--keys', at('keys.json'), '--teams', at('teams.json')];
      const { exitCode, stdout } = await gatewayctl(['import', 'litellm', at('config.yaml'), ...files, ...exports], {});
      expect(exitCode).toBe(0);
      expect(stdout).toMatch(/^3 of 4 models taken/);
      return at('gateway.yaml');
    });
  });
  afterAll(async () => {
    await gateway?.[Symbol.asyncDispose]();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs the script of commands, with this gatewayctl. Returns the token that it prints. */
  async function runCommands(): Promise<string> {
    const program = join(folder, 'gatewayctl');
    await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${programOf('gatewayctl')}' "$@"\n`);
    await chmod(program, 0o700);
    await using running = startCommand('sh', [join(folder, 'tokens.sh')], {
      PATH: `${folder}${delimiter}${process.env.PATH}`,
      GATEWAY_ADMIN_URL: gateway.adminUrl,
      GATEWAY_ADMIN_TOKEN: gateway.adminToken,
    });
    const { exitCode, stdout, stderr } = await running.ended;
    expect([exitCode, stderr]).toEqual([0, expect.stringContaining("(anna's key)")]);
    return stdout.trim().split('\n').at(-1) ?? '';
  }

  it('answers with the models, keys and limits of the old one', async () => {
    const token = await runCommands();
    const alias = await chat(gateway, token, { model: 'gateway/best' });
    expect([alias.status, alias.headers.get('x-gateway-model')]).toEqual([200, 'gpt-5.5']);
    const direct = await chat(gateway, token, { model: 'claude-haiku-4-5' });
    expect([direct.status, direct.headers.get('x-gateway-model')]).toEqual([200, 'claude-haiku-4-5']);
    expect(direct.headers.get('x-ratelimit-limit-requests')).toBe('100');
    const refused = await chat(gateway, token, { model: 'gateway/strong' });
    expect(refused.status).toBe(404);
    const { groups } = await adminClient(GroupService, gateway).listGroups({});
    expect(groups.map(({ group }) => group?.name)).toContain('Team A');
  });

  it('moves to the deployment of the next order when the first one is limited', async () => {
    const { tokenText } = await gateway.operator.issue({ kind: TokenKind.SERVICE, label: 'failover' });
    gateway.simulator.faults.add({ account: 'imported-responses', fault: { kind: 'status', status: 429 } });
    const { status, headers } = await chat(gateway, tokenText, { model: 'gateway/strong' });
    expect([status, headers.get('x-gateway-model')]).toEqual([200, 'claude-opus-4-8']);
  });

  it('has no secret of the old configuration in its file', async () => {
    expect(await readFile(gateway.gatewayFile, 'utf8')).not.toContain('sk-in-the-file');
  });
});

describe('gatewayctl shadow between two gateways', () => {
  let other: AllInOneTopology;
  let gateway: AllInOneTopology;
  beforeAll(async () => {
    [other, gateway] = await Promise.all([startAllInOne('shadow-from'), startAllInOne('shadow-to')]);
  });
  afterAll(async () => {
    await Promise.all([other, gateway].map((each) => each?.[Symbol.asyncDispose]()));
  });

  async function shadow(...args: readonly string[]) {
    const [from, to] = await Promise.all(
      [other, gateway].map(({ operator }) => operator.issue({ kind: TokenKind.SERVICE, label: 'shadow' })),
    );
    const keys = { SHADOW_FROM_KEY: from?.tokenText ?? '', GATEWAY_TOKEN: to?.tokenText ?? '' };
    return await gatewayctl(['shadow', '--from', other.baseUrl, '--to', gateway.baseUrl, ...args], keys);
  }

  it('finds the answers to its own requests alike', async () => {
    const { exitCode, stdout, stderr } = await shadow();
    expect([exitCode, stderr]).toEqual([0, '']);
    expect(stdout).toContain('10 requests compared: 10 alike, 0 different. 1 got an error from both.\n');
  });

  it('finds a stream that breaks off, usage that is missing, and a model that is not offered', async () => {
    const { faults } = gateway.simulator;
    faults.add({ path: '/v1/messages', fault: { kind: 'usage_missing' } });
    faults.add({ path: '/v1/responses', fault: { kind: 'end', afterEvents: 5 } });
    const { exitCode, stdout } = await shadow('-o', 'json', '--models', 'no-such-model=claude-haiku-4-5');
    faults.clear();
    expect(exitCode).toBe(1);
    const kinds = Object.fromEntries(
      shadowSchema
        .parse(JSON.parse(stdout))
        .results.map(({ name, differences }) => [name, [...new Set(differences.map(({ kind }) => kind))]]),
    );
    expect(kinds).toMatchObject({
      messages: expect.arrayContaining(['usage']),
      responses: expect.arrayContaining(['events']),
      'unknown-model': expect.arrayContaining(['status']),
      models: [],
      'count-tokens': [],
    });
  });
});

const shadowSchema = z.object({
  results: z.array(z.object({ name: z.string(), differences: z.array(z.object({ kind: z.string() })) })),
});
