import { GroupService, IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { BudgetPeriod } from '@gateway/proto/limiter/v2/limit_pb.js';
import { sleep } from '@gateway/time';
import type { Network } from '../world/network.ts';
import { RpcChannel, rpcPort } from '../world/rpc-network.ts';
import { WorldProcess } from '../world/world.ts';
import type { ClientToken } from './client.ts';

/** A text that is no longer valid, since an operator got the answer of identity. */
export interface EndedText {
  readonly text: string;
  readonly atMs: number;
}

/** An operator changed a limit, at some time between the question and the answer of identity. */
export interface LimitChange {
  readonly tokenId: string;
  readonly requestsPerMinute: number;
  readonly askedAtMs: number;
  readonly answeredAtMs: number;
}

type GroupLimits = Pick<TokenGroup, 'requestsPerMinute' | 'concurrentRequests' | 'budgetMicros'>;

/** Tokens that share limits, and the changes of their budget. */
export interface TokenGroup {
  readonly groupId: string;
  readonly requestsPerMinute: number;
  readonly concurrentRequests: number;
  readonly budgetMicros: number;
  /** Empty: all. */
  readonly models: readonly string[];
  readonly budgetChanges: { readonly value: number; readonly askedAtMs: number; readonly answeredAtMs: number }[];
}

/** The first budget is spent within minutes, and changes. The second one is never spent. */
const groupPlans = [
  { requestsPerMinute: 15, concurrentRequests: 2, budgetMicros: 30_000, models: [] },
  {
    requestsPerMinute: 25,
    concurrentRequests: 3,
    budgetMicros: 4_000_000,
    models: ['gateway/claude', 'claude-sonnet-5'],
  },
];

/** A token with a client of its own, and one that several share. */
const tokenPlans = [
  { requestsPerMinute: 12, clients: 1 },
  { requestsPerMinute: 20, clients: 3 },
  { requestsPerMinute: 1_000, clients: 2 },
];

/** How an operator changes a token. */
export const tokenChangeKinds = ['token', 'revoke', 'limit', 'group'] as const;
export type TokenChangeKind = (typeof tokenChangeKinds)[number];

/** Issues tokens, and changes them while clients use them. */
export class Operator {
  /** The tokens that clients use now: one for each plan. */
  readonly tokens: ClientToken[] = [];
  readonly ended: EndedText[] = [];
  readonly limitChanges: LimitChange[] = [];
  readonly groups: TokenGroup[] = [];
  readonly #network: Network;
  readonly #process = new WorldProcess('operator');
  readonly #identity;
  readonly #groups;
  /** One change of a token at a time. */
  readonly #changing = new Map<number, Promise<void>>();

  constructor(network: Network) {
    this.#network = network;
    const channel = this.#process.run(() => new RpcChannel(network, 'identity', [`identity-1:${rpcPort}`]));
    this.#identity = channel.client(IdentityService);
    this.#groups = channel.client(GroupService);
  }

  /** Issues a token for each plan; with groups, also one in each group. */
  async issueTokens(hasGroups: boolean): Promise<void> {
    const issuing = this.#process.run(async () => {
      for (const plan of tokenPlans) this.tokens.push(await this.#issue(plan));
      for (const plan of hasGroups ? groupPlans : []) {
        const { group } = await this.#groups.createGroup({
          ...{ name: `group of ${plan.requestsPerMinute}`, limits: limitsOf(plan) },
          access: { models: plan.models },
        });
        const { groupId = '' } = group ?? {};
        this.groups.push({ ...plan, groupId, budgetChanges: [] });
        this.tokens.push(await this.#issue({ requestsPerMinute: 1_000, clients: 2, groupId }));
      }
    });
    await this.#network.world.runFor(issuing, 5_000);
  }

  /** Changes the token of a plan, after the changes before it. */
  change(kind: TokenChangeKind, plan: number, forMs: number, limit: number): void {
    const acts = {
      token: () => this.#rotate(plan, forMs),
      revoke: () => this.#revoke(plan, forMs),
      limit: () => this.#lower(plan, forMs, limit),
      group: () => (forMs % 2 === 0 ? this.#move(plan, forMs + 30_000) : this.#spendMore(limit)),
    };
    const before = this.#changing.get(plan);
    const changing = this.#process.run(async () => {
      await before;
      await acts[kind]();
    });
    this.#changing.set(plan, changing);
  }

  /** Replaces a token's text. Its clients learn the new one late. */
  async #rotate(plan: number, learnAfterMs: number): Promise<void> {
    const token = this.#tokenOf(plan);
    const { text: before, tokenId } = token;
    const rotated = await this.#untilAnswered(() => this.#identity.rotate({ tokenId, keepOldSeconds: 0 }));
    this.#noteEnd(before);
    await sleep(learnAfterMs);
    token.text = rotated.tokenText;
  }

  /** Ends a token. Its clients get another one later. */
  async #revoke(plan: number, learnAfterMs: number): Promise<void> {
    const token = this.#tokenOf(plan);
    await this.#untilAnswered(() => this.#identity.revoke({ tokenId: token.tokenId }));
    this.#noteEnd(token.text);
    await sleep(learnAfterMs);
    this.tokens[plan] = await this.#untilAnswered(() => this.#issue(token));
  }

  /** Lowers a limit, for longer than edges may trust the one before. */
  async #lower(plan: number, forMs: number, limit: number): Promise<void> {
    const { tokenId, requestsPerMinute: usual } = this.#tokenOf(plan);
    const change = async (requestsPerMinute: number) => {
      const askedAtMs = this.#network.world.nowMs;
      const limits = { requestsPerMinute, tokensPerDay: 1_000_000_000 };
      await this.#untilAnswered(() => this.#identity.update({ tokenId, limits }));
      this.limitChanges.push({ tokenId, requestsPerMinute, askedAtMs, answeredAtMs: this.#network.world.nowMs });
    };
    await change(Math.min(usual, limit));
    await sleep(forMs + 60_000);
    await change(usual);
  }

  /** Moves a token into the other group for a while. */
  async #move(plan: number, forMs: number): Promise<void> {
    const { tokenId, groupId: usual = '' } = this.#tokenOf(plan);
    const other = this.groups.find(({ groupId }) => groupId !== usual)?.groupId ?? usual;
    await this.#untilAnswered(() => this.#identity.update({ tokenId, groupId: other }));
    await sleep(forMs);
    await this.#untilAnswered(() => this.#identity.update({ tokenId, groupId: usual }));
  }

  /** Changes the budget of the first group. */
  async #spendMore(twentieths: number): Promise<void> {
    const [group] = this.groups;
    if (group === undefined) return;
    const askedAtMs = this.#network.world.nowMs;
    const value = twentieths * 3_000;
    const { groupId } = group;
    const limits = limitsOf({ ...group, budgetMicros: value });
    await this.#untilAnswered(() => this.#groups.updateGroup({ groupId, limits }));
    group.budgetChanges.push({ value, askedAtMs, answeredAtMs: this.#network.world.nowMs });
  }

  async #issue({ requestsPerMinute, clients, groupId }: Omit<ClientToken, 'tokenId' | 'text'>) {
    const limits = { requestsPerMinute, tokensPerDay: 1_000_000_000 };
    const issued = await this.#identity.issue({
      kind: TokenKind.SERVICE,
      label: 'simulated',
      limits,
      groupId: groupId ?? '',
    });
    return { tokenId: issued.token?.tokenId ?? '', text: issued.tokenText, requestsPerMinute, clients, groupId };
  }

  #tokenOf(plan: number): ClientToken {
    const token = this.tokens[plan];
    if (token === undefined) throw new Error(`no token ${plan}`);
    return token;
  }

  #noteEnd(text: string): void {
    this.ended.push({ text, atMs: this.#network.world.nowMs });
  }

  async #untilAnswered<T>(call: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await call();
      } catch {
        await sleep(1_000);
      }
    }
  }
}

/** The limits of a group, as identity and the limiter have them. */
export function limitsOf({ requestsPerMinute, concurrentRequests, budgetMicros }: GroupLimits) {
  const budget = { amountMicros: budgetMicros, period: BudgetPeriod.DAY };
  return { requestsPerMinute, concurrentRequests, budget };
}
