import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { createTokenText } from '@gateway/tokens';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { adminClient } from '../client/operator.ts';
import { type ReplicatedServices, startReplicatedServices } from '../topologies/replicated-services.ts';
import { costMicros, reservedMicros, spend, usage } from './group-budget-load.ts';

/** What a killed edge reserved just before its first attempt is kept for half a minute. */
const longWait = { timeout: roomMs(60_000) };

const isLong = process.env.FAULTS === 'long';
const clients = 200;
/** How many requests a budget has room for. */
const roomFor = isLong ? 6_000 : 1_200;
const amountMicros = roomFor * reservedMicros;

/** Four edges, two limiters, and two hundred clients of one group. */
describe('a budget that two hundred clients spend', () => {
  const adminToken = createTokenText('operator');
  let gateway: ReplicatedServices;
  beforeAll(async () => {
    gateway = await startReplicatedServices({
      replicas: { 'edge-router': 4, limiter: 2, admin: 1 },
      eventDelayMs: 1,
      env: { LOG_LEVEL: 'error', ADMIN_TOKEN: adminToken },
      gatewayFile: ({ url }) => gatewayFile(url),
    });
    const fault = { kind: 'usage', members: usage, atStart: usage } as const;
    gateway.simulator.faults.add({ path: '/v1/messages', fault });
  });
  afterAll(() => gateway?.[Symbol.asyncDispose]());

  it('is exceeded by one request that crosses it at most, and refuses nothing while it has room', async () => {
    const { spending, spentMicros } = await spendWholeBudget();
    expect(spentMicros).toBeLessThan(amountMicros + costMicros);
    expect(spending.refusedTooEarly).toEqual([]);
  });

  it('is exceeded no further while edges are killed, and what they reserved is returned', async () => {
    const { spentMicros } = await spendWholeBudget(async () => {
      for (const edge of gateway.replicas['edge-router'].slice(0, isLong ? 4 : 2)) await killed(edge);
    });
    expect(spentMicros).toBeLessThan(amountMicros + costMicros);
  });

  it('is exceeded by what ran at most while both limiters are killed', async () => {
    const { spentMicros } = await spendWholeBudget(async () => {
      await Promise.all(gateway.replicas.limiter.map(killed));
    });
    expect(spentMicros).toBeLessThanOrEqual(amountMicros + clients * costMicros);
  });

  it('is exceeded by what ran at most when Redis loses all that it knew', async () => {
    const { spentMicros } = await spendWholeBudget(() => killed(gateway.redis));
    expect(spentMicros).toBeLessThanOrEqual(amountMicros + clients * costMicros);
  });

  /**
   * Lets the clients spend a group's budget, until each of them is refused and all is quiet. The
   * budget must be used up by then, and nothing of it reserved.
   */
  async function spendWholeBudget(meanwhile: () => Promise<void> = async () => undefined) {
    const access = { adminUrl: gateway.replicas.admin[0]?.adminUrl ?? '', adminToken };
    const [groups, tokens] = [adminClient(GroupService, access), adminClient(TokenService, access)];
    const budgetOfDay = { amountMicros, period: BudgetPeriod.DAY };
    // Nothing but the budget refuses, also where edges apply their shares.
    const limits = { concurrentRequests: 8 * clients, budget: budgetOfDay };
    const { group } = await groups.createGroup({ name: `budget ${crypto.randomUUID()}`, limits });
    const { groupId = '' } = group ?? {};
    const issued = await Promise.all(
      [1, 2, 3, 4].map(() => tokens.issueToken({ kind: TokenKind.SERVICE, label: 'spender', groupId })),
    );
    const urls = gateway.replicas['edge-router'].map(({ publicUrl = '' }) => publicUrl);
    const of = { urls, tokens: issued.map(({ tokenText }) => tokenText), amountMicros };
    const load = spend({ ...of, clients });
    await load.untilAnswered(roomFor / 10);
    await meanwhile();
    const { counts, ...spending } = await load.ended;
    const budget = async () => (await groups.getGroup({ group: groupId })).group?.limits?.budget;
    const isQuiet = () => expect.poll(async () => (await budget())?.reservedMicros, longWait).toBe(0);
    await isQuiet();
    // What killed processes had reserved can be spent now.
    const rest = (await spend({ ...of, clients: 1 }).ended).counts;
    await isQuiet();
    const spentMicros = Number((await budget())?.spentMicros);
    process.stdout.write(`${JSON.stringify({ ...counts, rest, spentMicros, amountMicros })}\n`);
    expect(spentMicros).toBeGreaterThanOrEqual((counts.answered + rest.answered) * costMicros);
    expect(spentMicros).toBeGreaterThanOrEqual(amountMicros);
    return { spending, spentMicros };
  }
});

async function killed(process: { kill(): Promise<void>; restart(): Promise<void> }): Promise<void> {
  await process.kill();
  await process.restart();
}

function gatewayFile(url: string): string {
  return `settings: { model_list_refresh_seconds: 2 }
pools:
  messages: { format: messages, owned_by: provider_b, base_url: "${url}/v1" }
accounts:
  - { pool: messages, name: a, credential: { api_key: messages-a } }
  - { pool: messages, name: b, credential: { api_key: messages-b } }
classes:
  claude: { name: Claude, effort: low, candidates: [messages/claude-sonnet-5] }
prices:
  currency: USD
  models:
    - { model: claude-sonnet-5, input: 3, output: 15 }
`;
}
