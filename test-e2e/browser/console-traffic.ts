import { setTimeout as sleep } from 'node:timers/promises';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { AccountUse } from '@gateway/proto/pool/v1/account_pb.js';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { messagesBody, relay, responsesBody } from '../client/relay.ts';
import type { Topology } from '../topologies/topology.ts';

/** A team's token, and its share of ten requests. */
export interface Team {
  readonly tokenId: string;
  readonly text: string;
  readonly share: number;
}

/** Issues a token to each team. One of them has a low limit, and is refused soon. */
export async function issueTeams(gateway: Topology): Promise<readonly Team[]> {
  const tokens = adminClient(TokenService, gateway);
  return await Promise.all(
    teams.map(async ({ label, note, share, rpm, tpd }) => {
      const limits = { requestsPerMinute: rpm, tokensPerDay: tpd };
      const { token, tokenText } = await tokens.issueToken({ kind: TokenKind.SERVICE, label, note, limits });
      return { tokenId: token?.tokenId ?? '', text: tokenText, share };
    }),
  );
}

const teams = [
  { label: 'support assistant', note: 'Answers in the help desk', share: 4, rpm: 600, tpd: 2_000_000 },
  { label: 'ci', note: 'Builds of the platform team', share: 3, rpm: 600, tpd: 400_000 },
  { label: 'notebooks', note: 'Data science', share: 2, rpm: 300, tpd: 600_000 },
  { label: 'nightly batch', note: 'May wait', share: 1, rpm: 10, tpd: 50_000 },
] as const;

/**
 * Requests of all kinds, a few a second, for this long: some fail over to another account, some are
 * refused, some fail, some are aborted by their client.
 */
export async function letTeamsWork(gateway: Topology, working: readonly Team[], forMs: number): Promise<void> {
  const tickets = working.flatMap((team) => Array.from({ length: team.share }, () => team));
  const { simulator } = gateway;
  const slow = simulator.faults.add({ fault: { kind: 'delay', beforeFirstEventMs: 350, betweenEventsMs: 12 } });
  const quotas = reportQuotas(gateway, 0);
  const asked: Promise<unknown>[] = [];
  const startedMs = Date.now();
  for (let n = 0; Date.now() - startedMs < forMs; n++) {
    const team = tickets[n % tickets.length];
    if (team !== undefined)
      asked.push(kinds[n % kinds.length]?.(gateway, team.text).catch(() => undefined) ?? sleep(0));
    if (n % 150 === 40) simulator.faults.add({ account: 'responses-team-b', times: 1, fault: limited(420) });
    if (n % 110 === 60)
      simulator.faults.add({ times: 3, model: 'claude-sonnet-5', fault: { kind: 'status', status: 500 } });
    if (n % 40 === 0) quotas.set((Date.now() - startedMs) / forMs);
    await sleep(180 + 120 * Math.sin(n / 25));
  }
  await Promise.all(asked);
  simulator.faults.clear(slow);
  quotas.clear();
}

type Ask = (gateway: Topology, token: string) => Promise<unknown>;

const words = (count: number) => [{ role: 'user', content: `#cached 400 #long ${count}` }];
const classAsk =
  (model: string, count: number): Ask =>
  (gateway, token) =>
    chat(gateway, token, { model, stream: true, messages: words(count) });

const kinds: readonly Ask[] = [
  classAsk('gateway/sterk', 60),
  classAsk('gateway/snel', 30),
  classAsk('gateway/claude', 40),
  (gateway, token) =>
    relay(gateway, token, { path: '/v1/responses', body: responsesBody('gpt-5.5', '#cached 900 #long 50') }),
  classAsk('gateway/snel', 25),
  (gateway, token) =>
    relay(gateway, token, { path: '/v1/messages', body: messagesBody('claude-opus-4-8', '#cached 700 #long 70') }),
  classAsk('gateway/sterk', 90),
  (gateway, token) => chat(gateway, token, { model: 'gateway/claude' }),
  classAsk('gateway/snel', 20),
  (gateway, token) => chat(gateway, token, { model: 'gateway/strong' }),
  (gateway, token) =>
    chat(gateway, token, { model: 'gateway/sterk', stream: true }, { signal: AbortSignal.timeout(600) }),
];

function limited(resetAfterSeconds: number) {
  return { preset: 'rate_limited_retry_after', resetAfterSeconds } as const;
}

/** The providers' headers with the quotas of the accounts. */
function reportQuotas({ simulator }: Topology, share: number) {
  let ids: readonly number[] = [];
  const clear = () => {
    for (const id of ids) simulator.faults.clear(id);
  };
  const set = (done: number) => {
    clear();
    const now = Math.ceil(Date.now() / 1_000);
    const ofWindow = (rank: string, used: number, minutes: number, resetSeconds: number) => ({
      [`x-codex-${rank}-used-percent`]: String(Math.round(used)),
      [`x-codex-${rank}-window-minutes`]: String(minutes),
      [`x-codex-${rank}-reset-after-seconds`]: String(resetSeconds),
    });
    const responses = [62, 78, 31].map((used) => ({
      ...ofWindow('primary', used + 12 * done, 300, 5_400),
      ...ofWindow('secondary', used / 2 + done, 10_080, 260_000),
    }));
    const messages = [44, 71].map((used) => ({
      'anthropic-ratelimit-unified-status': 'allowed',
      'anthropic-ratelimit-unified-5h-status': 'allowed',
      'anthropic-ratelimit-unified-5h-reset': String(now + 7_200),
      'anthropic-ratelimit-unified-5h-utilization': ((used + 15 * done) / 100).toFixed(2),
    }));
    const heads = [
      ...responses.map((headers, index) => ({ account: `responses-team-${'abc'[index]}`, headers })),
      ...messages.map((headers, index) => ({ account: `messages-team-${'ab'[index]}`, headers })),
    ];
    ids = heads.map(({ account, headers }) => simulator.faults.add({ account, fault: { kind: 'headers', headers } }));
  };
  set(share);
  return { set, clear };
}

/** An operator's actions of a day, for the audit log, and an attempt to guess a token. */
export async function operateOn(gateway: Topology, [first]: readonly Team[]): Promise<void> {
  const [tokens, accounts] = [adminClient(TokenService, gateway), adminClient(AccountService, gateway)];
  const [tokenId, accountId] = [first?.tokenId ?? '', 'messages/team-b'];
  await fetch(`${gateway.adminUrl}/gateway.admin.v1.SessionService/SignIn`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"token":"guessed"}' },
  });
  await tokens.updateToken({ tokenId, limits: { requestsPerMinute: 900, tokensPerDay: 3_000_000 } });
  await tokens.rotateToken({ tokenId, keepOldSeconds: 86_400 });
  await accounts.setAccountState({ accountId, use: AccountUse.DRAINING });
  await accounts.setAccountState({ accountId, use: AccountUse.ACTIVE, expectedUse: AccountUse.DRAINING });
}
