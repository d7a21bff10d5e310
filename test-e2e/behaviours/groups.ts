import type { MessageInitShape } from '@bufbuild/protobuf';
import { create } from '@bufbuild/protobuf';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import { AccessRulesSchema, TokenKind, UnpricedModels } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod, type LimitsSchema } from '@gateway/proto/limiter/v2/limit_pb.js';
import { roomMs } from '@gateway/testkit/room';
import { describe, expect, it } from 'vitest';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { messagesBody, relay } from '../client/relay.ts';
import type { Topology } from '../topologies/topology.ts';

/** Tokens that share limits, a budget and access rules. The prices are in the suite's file. */
export function groupsBehaviour(gateway: () => Topology): void {
  describe('a group of tokens', () => {
    it('shares requests per minute among its tokens, and never refuses a personal one', async () => {
      const group = await createGroup({ limits: { requestsPerMinute: 2 } });
      const [one, other, personal] = [await group.token(), await group.token(), await group.token('personal')];
      expect((await ask(one)).status).toBe(200);
      expect((await ask(other)).status).toBe(200);
      for (const token of [one, other]) {
        const refused = await ask(token);
        expect(refused).toMatchObject({ status: 429, json: { error: { limit: 'group_requests_per_minute' } } });
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0);
      }
      expect((await ask(personal)).status).toBe(200);
    });

    it('admits as many requests at a time as it may, and the next one when one has ended', async () => {
      const group = await createGroup({ limits: { concurrentRequests: 1 } });
      const [one, other] = [await group.token(), await group.token()];
      const delay = { kind: 'delay', beforeHeadersMs: roomMs(2_000) } as const;
      gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault: delay });
      const running = ask(one);
      await expect.poll(async () => (await group.status())?.concurrency?.running).toBe(1);
      const refused = await ask(other);
      expect(refused).toMatchObject({ status: 429, json: { error: { limit: 'concurrency' } } });
      expect(refused.headers.get('retry-after')).toBe('1');
      expect((await running).status).toBe(200);
      await expect.poll(async () => (await ask(other)).status).toBe(200);
      await expect.poll(async () => (await group.status())?.concurrency?.running).toBe(0);
    });

    it('uses no more tokens per day than its strict limit and one request, however many come at once', async () => {
      const tokensPerDay = 100;
      const group = await createGroup({ limits: { tokensPerDay, strictTokens: true } });
      const token = await group.token();
      const usedTokens = async () => {
        const headers = { authorization: `Bearer ${token}` };
        const report = await (await fetch(`${gateway().baseUrl}/v1/usage`, { headers })).json();
        return (report as { readonly today: { readonly totalTokens: number } }).today.totalTokens;
      };
      expect((await askMessages(token, 20)).status).toBe(200);
      await expect.poll(usedTokens).toBeGreaterThan(0);
      const ofOne = await usedTokens();
      // All of them together would use more than the limit and one request.
      expect(31 * ofOne).toBeGreaterThan(tokensPerDay + ofOne);
      const { faults } = gateway().simulator;
      const delay = { kind: 'delay', beforeHeadersMs: roomMs(1_000) } as const;
      const fault = faults.add({ account: 'counting-a', fault: delay });
      const answers = await Promise.all(Array.from({ length: 30 }, () => askMessages(token, 20)));
      faults.clear(fault);
      const refused = answers.filter(({ status }) => status === 429);
      const answered = answers.filter(({ status }) => status === 200).length;
      expect([answered + refused.length, answered > 0, refused.length > 0]).toEqual([30, true, true]);
      await expect.poll(usedTokens).toBe((answered + 1) * ofOne);
      expect((answered + 1) * ofOne).toBeLessThanOrEqual(tokensPerDay + ofOne);
    });

    it('spends its budget to the millionth, then refuses until the period ends', async () => {
      const amountMicros = 20_000;
      const group = await createGroup({ limits: { budget: { amountMicros, period: BudgetPeriod.MONTH } } });
      const token = await group.token();
      for (let n = 1; n <= 2; n++) {
        gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault: usageFault });
        expect((await askMessages(token, 50)).status).toBe(200);
        const budget = { spentMicros: n * 15_384, reservedMicros: 0, amountMicros };
        await expect.poll(async () => (await group.status())?.budget).toMatchObject(budget);
      }
      const refused = await ask(token);
      expect(refused).toMatchObject({ status: 429, json: { error: { limit: 'budget' } } });
      expect(refused.headers.get('x-should-retry')).toBe('false');
    });

    it('answers a request that alone is larger than its budget, and refuses the next one with numbers', async () => {
      const group = await createGroup({ limits: { budget: { amountMicros: 10_000, period: BudgetPeriod.DAY } } });
      const token = await group.token();
      gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault: usageFault });
      expect((await askMessages(token, 100_000)).status).toBe(200);
      await expect.poll(async () => (await group.status())?.budget?.spentMicros).toBe(15_384);
      const refused = await askMessages(token, 10);
      expect(refused).toMatchObject({ status: 429 });
      expect(refused.text).toMatch(
        /0\.0154 USD of 0\.01\d* USD is spent, and running requests have reserved 0\.00 USD/,
      );
    });

    it('refuses a request that does not fit beside what others reserved, and answers it when they end', async () => {
      const group = await createGroup({ limits: { budget: { amountMicros: 100_000, period: BudgetPeriod.DAY } } });
      const { tokenText: token } = await group.issue(TokenKind.SERVICE, { requestsPerMinute: 3 });
      const remaining = ({ headers }: { readonly headers: Headers }) => headers.get('x-ratelimit-remaining-requests');
      const delay = { kind: 'delay', beforeHeadersMs: roomMs(2_000) } as const;
      gateway().simulator.faults.add({ account: 'counting-a', times: 1, fault: delay });
      const running = askMessages(token, 100);
      await expect.poll(async () => (await group.status())?.budget?.reservedMicros).toBeGreaterThan(0);
      const refused = await askMessages(token, 100_000);
      expect(refused.status).toBe(429);
      expect(refused.headers.get('retry-after')).toBe('1');
      expect(remaining(refused)).toBe('2');
      expect((await running).status).toBe(200);
      await expect.poll(async () => (await group.status())?.budget?.reservedMicros).toBe(0);
      const answered = await askMessages(token, 100_000);
      expect(answered.status).toBe(200);
      expect(remaining(answered)).toBe('1');
    });

    it('is crossed by one of many requests whose content the provider fetches, at the same time', async () => {
      const budget = { amountMicros: 1_000_000, period: BudgetPeriod.DAY };
      const group = await createGroup({ limits: { budget } });
      const token = await group.token();
      const fault = { kind: 'usage', members: largeUsage, atStart: largeUsage } as const;
      const faultId = gateway().simulator.faults.add({ account: 'counting-a', fault });
      const source = { type: 'url', url: 'https://example.com/large.pdf' };
      const content = [{ type: 'document', source }];
      const body = { ...messagesBody('gateway/counting', ''), messages: [{ role: 'user', content }] };
      const asked = Array.from({ length: 60 }, () => relay(gateway(), token, { path: '/v1/messages', body }));
      const answers = await Promise.all(asked);
      gateway().simulator.faults.clear(faultId);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 429]));
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      const spent = async () => (await group.status())?.budget;
      await expect.poll(spent).toMatchObject({ spentMicros: 2_000_001, reservedMicros: 0 });
    });

    it('refuses a model without a price, or prices it as the dearest of its pool, as the group says', async () => {
      const limits = { budget: { amountMicros: 1_000_000, period: BudgetPeriod.DAY } };
      const group = await createGroup({ limits });
      const token = await group.token();
      const model = 'claude-haiku-4-5';
      for (const named of [model, 'gateway/snel']) {
        const refused = await ask(token, { model: named });
        expect(refused).toMatchObject({ status: 400, json: { error: { code: 'invalid_request' } } });
        expect(JSON.stringify(refused.json)).toContain('has no price');
      }
      expect((await ask(token, { model: 'claude-unknown' })).status).toBe(404);
      expect((await group.status())?.budget).toMatchObject({ spentMicros: 0, reservedMicros: 0 });
      const { groupId } = group;
      await adminClient(GroupService, gateway()).updateGroup({ groupId, unpricedModels: UnpricedModels.DEAREST });
      await expect.poll(async () => (await ask(token, { model })).status).toBe(200);
      await expect.poll(async () => (await group.status())?.budget?.spentMicros).toBeGreaterThan(0);
    });

    it('leaves the limits of its tokens as they are', async () => {
      const group = await createGroup({ limits: { requestsPerMinute: 60 } });
      const { tokenText } = await group.issue(TokenKind.SERVICE, { tokensPerDay: 1 });
      expect((await ask(tokenText)).status).toBe(200);
      expect(await ask(tokenText)).toMatchObject({ status: 429, json: { error: { limit: 'tokens_per_day' } } });
    });

    it('hides models that its tokens may not use, also when its budget is spent', async () => {
      const budget = { amountMicros: 0, period: BudgetPeriod.DAY };
      const access = create(AccessRulesSchema, { models: ['gateway/snel'] });
      const group = await createGroup({ access });
      const token = await group.token();
      const listing = await fetch(`${gateway().baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
      const { data } = (await listing.json()) as { data: readonly { readonly id: string }[] };
      expect(data.map(({ id }) => id)).toEqual(['gateway/snel']);
      const messageOf = async (model: string) => {
        const { status, json } = await ask(token, { model });
        expect(status).toBe(404);
        return JSON.stringify(json).replaceAll(model, 'MODEL');
      };
      expect(await messageOf('gateway/counting')).toBe(await messageOf('gateway/unknown'));
      expect(await messageOf('claude-sonnet-5')).toBe(await messageOf('claude-unknown'));
      expect((await ask(token, { model: 'gateway/snel' })).status).toBe(200);
      await group.setLimits({ budget: { ...budget, amountMicros: 1 } });
      await expect.poll(async () => (await group.status())?.budget?.amountMicros).toBe(1);
      expect(await messageOf('claude-sonnet-5')).toBe(await messageOf('claude-unknown'));
    });

    it('hides models that no account with its labels serves, also when its budget has no room', async () => {
      const limits = { budget: { amountMicros: 1, period: BudgetPeriod.DAY } };
      const access = create(AccessRulesSchema, { accountLabels: ['label-of-no-account'] });
      const token = await (await createGroup({ access, limits })).token();
      const answer = await askMessages(token, 1_000);
      expect(answer.status).toBe(404);
    });

    it('stops limiting tokens that have left it, and when it is deleted', async () => {
      const group = await createGroup({ limits: { requestsPerMinute: 0 } });
      const [leaving, staying] = [await group.issue(), await group.issue()];
      expect((await ask(leaving.tokenText)).status).toBe(429);
      const tokenId = leaving.token?.tokenId ?? '';
      await adminClient(TokenService, gateway()).updateToken({ tokenId, groupId: '' });
      await expect.poll(async () => (await ask(leaving.tokenText)).status).toBe(200);
      expect((await ask(staying.tokenText)).status).toBe(429);
      await adminClient(GroupService, gateway()).deleteGroup({ groupId: group.groupId });
      await expect.poll(async () => (await ask(staying.tokenText)).status).toBe(200);
    });

    const ask = (token: string, more: Readonly<Record<string, unknown>> = {}) =>
      chat(gateway(), token, { model: 'gateway/counting', max_tokens: 50, ...more });

    const askMessages = (token: string, maxTokens: number) =>
      relay(gateway(), token, {
        path: '/v1/messages',
        body: messagesBody('gateway/counting', 'Hello there', { max_tokens: maxTokens }),
      });

    async function createGroup({ limits, access }: GroupTerms) {
      const groups = adminClient(GroupService, gateway());
      const name = `e2e ${crypto.randomUUID()}`;
      const groupId = (await groups.createGroup({ name, limits, access })).group?.groupId ?? '';
      const issue = (kind: TokenKind = TokenKind.SERVICE, ofToken?: GroupTerms['limits']) =>
        adminClient(TokenService, gateway()).issueToken({ kind, label: 'e2e', groupId, limits: ofToken });
      return {
        groupId,
        issue,
        token: async (kind: 'service' | 'personal' = 'service') =>
          (await issue(kind === 'personal' ? TokenKind.PERSONAL : TokenKind.SERVICE)).tokenText,
        setLimits: (changed: GroupTerms['limits']) => groups.updateGroup({ groupId, limits: changed }),
        status: async () => (await groups.getGroup({ group: groupId })).group?.limits,
      };
    }
  });
}

interface GroupTerms {
  readonly limits?: MessageInitShape<typeof LimitsSchema>;
  readonly access?: MessageInitShape<typeof AccessRulesSchema>;
}

/** 15,384 millionths, as `costs` derives from the price page. */
const usage = {
  input_tokens: 2_048,
  cache_read_input_tokens: 1_800,
  cache_creation_input_tokens: 248,
  cache_creation: { ephemeral_5m_input_tokens: 148, ephemeral_1h_input_tokens: 100 },
  output_tokens: 503,
};
/** Two dollars of a model whose input costs three per million. */
const largeUsage = { input_tokens: 666_662, output_tokens: 1 };
const usageFault = { kind: 'usage', members: usage, atStart: usage } as const;
