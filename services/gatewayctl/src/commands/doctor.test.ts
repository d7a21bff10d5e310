import { statfs } from 'node:fs/promises';
import { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError } from '@connectrpc/connect';
import { type AccountProbeSchema, AccountService, ProbeResult } from '@gateway/proto/admin/v1/account_service_pb.js';
import { GroupService, type ListGroupsResponseSchema } from '@gateway/proto/admin/v1/group_service_pb.js';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { PoolService } from '@gateway/proto/admin/v1/pool_service_pb.js';
import { SessionSchema, SessionService } from '@gateway/proto/admin/v1/session_service_pb.js';
import { type ReplicaSchema, Severity, SystemService } from '@gateway/proto/admin/v1/system_service_pb.js';
import { type AccountSchema, AccountState, AttemptResult, ProviderFormat } from '@gateway/proto/pool/v1/account_pb.js';
import type { PoolPauseSchema, PoolSchema } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { readBuild } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const { version } = readBuild();
const admin = create(SessionSchema, { holder: { case: 'operator', value: { name: 'eva', role: Role.ADMIN } } });
const weekMs = 7 * 86_400_000;

interface World {
  readonly replicas?: readonly MessageInitShape<typeof ReplicaSchema>[];
  readonly attention?: readonly { severity: Severity; text: string }[];
  readonly notes?: readonly string[];
  readonly clockOffMs?: number;
  readonly status?: number;
  readonly isSignedIn?: boolean;
  /** Why no one can sign in, as the admin service says it. */
  readonly signInFailure?: ConnectError;
  /** Why the admin service is not ready. */
  readonly unreadiness?: string;
  readonly pauses?: readonly MessageInitShape<typeof PoolPauseSchema>[];
  readonly modelListFailure?: string;
  readonly accounts?: readonly MessageInitShape<typeof AccountSchema>[];
  /** Besides the pool of these accounts. */
  readonly otherPools?: readonly { readonly pool: MessageInitShape<typeof PoolSchema> }[];
  readonly simulated?: boolean;
  /** The data folder of the embedded gateway. */
  readonly folder?: string;
  /** Undefined: the operator may not probe. */
  readonly probes?: readonly MessageInitShape<typeof AccountProbeSchema>[];
  readonly groups?: MessageInitShape<typeof ListGroupsResponseSchema>;
}

function commandLine({
  replicas = [replica()],
  attention = [],
  notes = [],
  clockOffMs = 0,
  status = 200,
  isSignedIn = true,
  signInFailure,
  unreadiness,
  pauses = [],
  modelListFailure = '',
  accounts = [{ state: AccountState.AVAILABLE }, {}],
  otherPools = [],
  simulated = false,
  folder = '/nowhere',
  probes,
  groups = {},
}: World = {}) {
  const get = async (path: string) => {
    const answer = new IncomingMessage(new Socket());
    const isUnready = path === '/readyz' && unreadiness !== undefined;
    answer.statusCode = isUnready ? 503 : status;
    if (isUnready) answer.push(`${unreadiness}\n`);
    answer.headers.date = new Date(Date.now() + clockOffMs).toUTCString();
    answer.push(null);
    return answer;
  };
  const routes: ConstructorParameters<typeof CommandLine>[0] = (router) => {
    router.service(SessionService, {
      getSession: () => {
        if (signInFailure !== undefined) throw signInFailure;
        if (isSignedIn) return { session: admin };
        throw new ConnectError('Sign in first.', Code.Unauthenticated);
      },
    });
    router.service(SystemService, {
      getOverview: () => ({ overview: { attention: [...attention], notes: [...notes] } }),
      listReplicas: () => ({ replicas: [...replicas] }),
    });
    router.service(PoolService, {
      listPools: () => ({
        overview: {
          pools: [
            { pool: { name: 'responses', modelListFailure, simulated }, accounts: [...accounts], pauses: [...pauses] },
            ...otherPools,
          ],
        },
      }),
    });
    router.service(GroupService, { listGroups: () => groups });
    router.service(AccountService, {
      probeAccounts: () => {
        if (probes !== undefined) return { probes: [...probes] };
        throw new ConnectError('You are eva (viewer).', Code.PermissionDenied);
      },
    });
  };
  const env = { GATEWAY_DATA: folder, XDG_CONFIG_HOME: '/nowhere', GATEWAY_ADMIN_TOKEN: 'gw_a_x' };
  return new CommandLine(routes, env, { url: 'http://gateway.test', get });
}

function replica(more: MessageInitShape<typeof ReplicaSchema> = {}): MessageInitShape<typeof ReplicaSchema> {
  return { service: 'limiter', address: '10.0.0.1:9090', version, ready: true, ...more };
}

describe('gatewayctl doctor', () => {
  it('ends well when all is well', async () => {
    const certificate = { certificate_expires_at: (Date.now() + weekMs) / 1_000 + 60 };
    const { exitCode, lines, notes } = await commandLine({ replicas: [replica({ figures: certificate })] }).run(
      'doctor',
    );
    expect({ exitCode, notes }).toEqual({ exitCode: 0, notes: '' });
    expect(lines.map((line) => line.replace(/in [\d.]+ m?s$/, ''))).toEqual([
      '✓ address       http://gateway.test responds ',
      "✓ clock         the gateway's clock matches this machine's",
      '✓ sign-in       as eva (admin), with GATEWAY_ADMIN_TOKEN',
      '✓ replicas      1 replica of 1 service ready',
      `✓ versions      all replicas run ${version}, like this gatewayctl`,
      '✓ certificates  the first of 1 certificate expires in 7 d',
      '✓ pools         responses: 1 of 2 accounts available',
    ]);
  });

  it('says who may sign in as a person, which is nothing to fix', async () => {
    const text = 'OIDC_PEOPLE_GROUPS has *: everyone whom the provider signs in may use the gateway.';
    const { exitCode, lines } = await commandLine({ notes: [text] }).run('doctor');
    expect(exitCode).toBe(0);
    expect(lines).toContain(`· people        ${text}`);
  });

  it('reports problems and their remedies', async () => {
    const { exitCode, lines, notes } = await commandLine({
      clockOffMs: 60_000,
      replicas: [replica(), replica({ version: '0.0.9', ready: false })],
      attention: [
        { severity: Severity.CRITICAL, text: 'No limiter is ready.' },
        { severity: Severity.WARNING, text: 'The ledger is behind.' },
      ],
    }).run('doctor');
    expect(exitCode).toBe(1);
    expect(notes).toBe('gatewayctl: 4 of 7 checks failed.');
    expect(lines.join('\n')).toMatch(
      /! clock +the gateway's clock is .* off this machine's\n +Synchronize both clocks/,
    );
    expect(lines.join('\n')).toMatch(/! versions +replicas run 0\.0\.9 and .*\n +Finish the rollout/);
    expect(lines).toContain('✗ gateway       No limiter is ready.');
    expect(lines).toContain('! gateway       The ledger is behind.');
  });

  it('says why no one can sign in, and why the admin service is not ready', async () => {
    const signInFailure = new ConnectError('The database does not answer.', Code.Unavailable);
    const unreadiness = 'DATABASE_URL: the database does not answer';
    const { exitCode, lines } = await commandLine({ signInFailure, unreadiness }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines).toContain('✗ sign-in       The database does not answer.');
    expect(lines).toContain(`✗ gateway       the admin service is not ready: ${unreadiness}`);
    const { lines: ofOthers } = await commandLine({ signInFailure: new ConnectError('Odd.', Code.Internal) }).run(
      'doctor',
    );
    expect(ofOthers).toContain('✗ sign-in       Odd.');
    expect(ofOthers.join()).not.toContain('not ready');
  });

  it('does not count an account as available whose last attempts all failed', async () => {
    const failing = { state: AccountState.AVAILABLE, lastError: { inARow: 7 } };
    const some = await commandLine({ accounts: [failing, { state: AccountState.AVAILABLE }] }).run('doctor');
    expect(some.lines).toContain('✓ pools         responses: 1 of 2 accounts available');
    // The overview has named it, and why.
    expect((await commandLine({ accounts: [failing] }).run('doctor')).lines.join()).not.toContain('pools');
  });

  it("says why a provider's model list can't be read, before any request fails", async () => {
    const { exitCode, lines } = await commandLine({ modelListFailure: '401 from the provider' }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines).toContain(
      "✗ providers     responses: the provider's model list can't be read: 401 from the provider",
    );
    const without = await commandLine({ modelListFailure: '401 from the provider', accounts: [] }).run('doctor');
    expect(without.lines.join()).not.toContain('401');
  });

  it("says where to change what a provider's model list fails with", async () => {
    const remedyOf = async (modelListFailure: string) => {
      const accounts = [{ id: 'responses/team-a', state: AccountState.AVAILABLE, source: 'OPENAI_API_KEY' }];
      const { lines } = await commandLine({ modelListFailure, accounts }).run('doctor');
      return lines[lines.findIndex((line) => line.startsWith('✗ providers')) + 1]?.trim();
    };
    expect(await remedyOf('401 from the provider')).toBe('Set OPENAI_API_KEY to a valid key, and restart the gateway.');
    expect(await remedyOf('connection refused by 127.0.0.1:9')).toMatch(/^Check base_url/);
  });

  it('names one cause once: with the account that is failing', async () => {
    const modelListFailure = '401 from the provider';
    const lastError = { result: AttemptResult.UNAUTHORIZED, upstreamStatus: 401, inARow: 2 };
    const text = 'The account responses/a is failing: 401 from the provider.';
    const pauses = [{ reason: AttemptResult.UNAUTHORIZED }];
    const failing = { modelListFailure, pauses, attention: [{ severity: Severity.CRITICAL, text }] };
    const { printed, lines } = await commandLine({
      ...failing,
      accounts: [{ state: AccountState.COOLING, lastError }],
    }).run('doctor');
    expect(lines).toContain(`✗ gateway       ${text}`);
    expect(printed.match(/401|paused/g)).toEqual(['401']);
    const cooling = [{ state: AccountState.COOLING, lastError }, { state: AccountState.COOLING }];
    expect((await commandLine({ ...failing, accounts: cooling }).run('doctor')).printed).toContain(
      'responses is paused',
    );
  });

  it('fails if a group with a budget refuses models for want of a price', async () => {
    const group = { name: 'Team A', limits: { budget: { amountMicros: 1 } } };
    const groups = {
      currency: 'EUR',
      groups: [{ group, modelsWithoutPrice: ['gpt-x'] }],
      modelsWithoutPrice: ['gpt-x'],
    };
    const { exitCode, lines } = await commandLine({ groups }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines).toContain('! prices        models without a price in the group Team A, refused: gpt-x');
  });

  it('notes what does not work because a pool has no account, and fails nothing', async () => {
    const unused = { pool: { name: 'messages', format: ProviderFormat.MESSAGES } };
    const { exitCode, lines } = await commandLine({ otherPools: [unused] }).run('doctor');
    expect(exitCode).toBe(0);
    expect(lines.slice(-2)).toEqual([
      '· pools         The pool messages has no usable account: its models, /v1/messages and failover to it do not work.',
      '                If you need it, add an account with gatewayctl account add, or in gateway.yaml.',
    ]);
  });

  it('says that providers are simulated, which is nothing to fix', async () => {
    const { exitCode, lines } = await commandLine({ simulated: true }).run('doctor');
    expect(exitCode).toBe(0);
    expect(lines.join('\n')).toMatch(
      /✓ providers +simulated providers: no model .*\n +For real ones, start the gateway/,
    );
    expect((await commandLine().run('doctor')).printed).not.toContain('simulated');
  });

  it('says that a pool is paused, why and until when', async () => {
    const untilMs = 1_800_000_000_000;
    const pause = { reason: AttemptResult.NETWORK_ERROR, wholePool: true, untilMs };
    const { exitCode, lines } = await commandLine({ pauses: [pause] }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines.join('\n')).toMatch(
      /! pools +responses is paused until 2027-01-15 08:00:00 UTC: the provider is unreachable\n +The pause ends automatically/,
    );
  });

  it('compares the clocks of all replicas, and looks at the disks of those that keep files', async () => {
    const gibibyte = 1_024 ** 3;
    const { lines, exitCode } = await commandLine({
      replicas: [
        replica({ figures: { clock_offset_seconds: 0.2 } }),
        replica({
          ...{ service: 'edge-router', address: '10.0.0.2:9090' },
          figures: { clock_offset_seconds: -90, disk_free_bytes: gibibyte / 2, disk_size_bytes: 100 * gibibyte },
        }),
        replica({
          ...{ service: 'edge-router', address: '10.0.0.3:9090' },
          figures: { clock_offset_seconds: 0, disk_free_bytes: 50 * gibibyte, disk_size_bytes: 100 * gibibyte },
        }),
      ],
    }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines.join('\n')).toMatch(
      /! clocks +the clock of edge-router at 10\.0\.0\.2:9090 is 90\.0 s behind the admin service's\n +Synchronize the clocks/,
    );
    expect(lines.join('\n')).toMatch(/! disk +512 MiB free for edge-router at 10\.0\.0\.2:9090\n +Free up disk space/);
    expect(lines).toContain('✓ disk          50 GiB free for edge-router at 10.0.0.3:9090');
    const agreed = await commandLine({ replicas: [replica({ figures: { clock_offset_seconds: 0 } })] }).run('doctor');
    expect(agreed.lines).toContain("✓ clocks        1 clock within a second of the admin service's");
  });

  it('says that a disk is full, and what that means', async () => {
    const figures = { disk_free_bytes: 4_096, disk_size_bytes: 1_024 ** 3 };
    const { lines } = await commandLine({ replicas: [replica({ figures })] }).run('doctor');
    const text =
      /✗ disk +the disk is full: 4.0 KiB free for .*\n +Free up disk space now: until then usage is kept in memory/;
    expect(lines.join('\n')).toMatch(text);
  });

  it('names the disk of a gateway on this machine once', async () => {
    const { bsize, blocks } = await statfs('.');
    const figures = { disk_free_bytes: 50 * 1_024 ** 3, disk_size_bytes: blocks * bsize };
    const disks = async (replicas: NonNullable<World['replicas']>) => {
      const { lines } = await commandLine({ replicas, folder: '.' }).run('doctor');
      return lines.filter((line) => line.includes(' free for ')).map((line) => line.replace(/.* free for /, ''));
    };
    expect(await disks([replica({ service: 'gateway', figures })])).toEqual(['gateway at 10.0.0.1:9090']);
    expect(await disks([replica({ figures: { ...figures, disk_size_bytes: 1 } })])).toEqual([
      '.',
      'limiter at 10.0.0.1:9090',
    ]);
  });

  it('with --probe, says what each provider answers to the credential of each account', async () => {
    const probes = [
      { accountId: 'a/1', result: ProbeResult.SUCCEEDED, upstreamStatus: 200, modelCount: 14, durationMs: 84 },
      { accountId: 'a/2', result: ProbeResult.SKIPPED, cause: 'the account is disabled' },
    ];
    const well = await commandLine({ probes }).run('doctor', '--probe');
    expect(well.exitCode).toBe(0);
    expect(well.lines.slice(-2)).toEqual([
      '✓ accounts      a/1: 200, 14 models in 84 ms',
      '✓ accounts      a/2: not asked, because the account is disabled',
    ]);
    const cause = 'the messages-adapter does not answer: No connection.';
    const badly = commandLine({
      probes: [
        ...probes,
        { accountId: 'b/1', result: ProbeResult.FAILED, cause: 'connection refused by 127.0.0.1:9', durationMs: 3 },
        { accountId: 'b/2', result: ProbeResult.NOT_ASKED, cause },
      ],
    });
    const { exitCode, lines, notes } = await badly.run('doctor', '--probe');
    expect({ exitCode, notes }).toEqual({ exitCode: 1, notes: 'gatewayctl: 2 of 10 checks failed.' });
    expect(lines.slice(-3)).toEqual([
      '✗ accounts      b/1: connection refused by 127.0.0.1:9',
      '                Check base_url in gateway.yaml, and the network to the provider: DNS, proxy, firewall.',
      `✗ accounts      b/2: ${cause}`,
    ]);
    expect((await badly.run('doctor', '--probe', '-o', 'json')).json().slice(-2)).toMatchObject([
      { about: 'accounts', state: 'wrong', text: 'b/1: connection refused by 127.0.0.1:9' },
      { about: 'accounts', state: 'wrong', text: `b/2: ${cause}`, remedy: '' },
    ]);
    expect((await badly.run('doctor')).lines.join()).not.toContain('accounts  ');
  });

  it('with --probe, says how to end the pause of an account whose credential the provider accepts again', async () => {
    const untilMs = 1_795_000_000_000;
    const accounts = [AttemptResult.UNAUTHORIZED, AttemptResult.RATE_LIMITED].map((reason, at) => ({
      ...{ id: `a/${at}`, state: AccountState.COOLING, cooldowns: [{ untilMs, reason }] },
    }));
    const result = ProbeResult.SUCCEEDED;
    const probes = accounts.map(({ id }) => ({ accountId: id, result, upstreamStatus: 200, modelCount: 1 }));
    const { lines } = await commandLine({ accounts, probes }).run('doctor', '--probe');
    expect(lines.slice(-3)).toEqual([
      '✓ accounts      a/0: 200, 1 model in 0.0 ms',
      '                Its pause after a refused credential lasts. To end it at once: gatewayctl account enable a/0',
      '✓ accounts      a/1: 200, 1 model in 0.0 ms',
    ]);
  });

  it('with --probe, says that the role does not allow it', async () => {
    const { exitCode, lines } = await commandLine().run('doctor', '--probe');
    expect(exitCode).toBe(1);
    expect(lines.at(-1)).toMatch(/^✗ gateway +.*You are eva \(viewer\)\./);
  });

  it('says which token is refused, and looks no further', async () => {
    const { exitCode, lines } = await commandLine({ isSignedIn: false }).run('doctor');
    expect(exitCode).toBe(1);
    expect(lines.slice(-2)).toEqual([
      '✗ sign-in       the token from GATEWAY_ADMIN_TOKEN is rejected',
      '                Run gatewayctl login with an operator token.',
    ]);
  });

  it('says when something else answers at the address, for programs too', async () => {
    const { exitCode, json } = await commandLine({ status: 404 }).run('doctor', '-o', 'json');
    expect(exitCode).toBe(1);
    expect(json()).toMatchObject([
      { about: 'address', state: 'wrong', remedy: expect.stringMatching(/GATEWAY_ADMIN_URL/) },
    ]);
  });
});
