import { IdentityService, TokenKind } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { sleep } from '@gateway/time';
import type { Network } from '../world/network.ts';
import { RpcChannel, rpcPort } from '../world/rpc-network.ts';
import type { Chance } from '../world/seeded.ts';
import { WorldProcess } from '../world/world.ts';
import type { ClientToken } from './client.ts';

/** A text that is no longer valid, since an operator got the answer of identity. */
export interface EndedText {
  readonly text: string;
  readonly atMs: number;
}

/** A token with a client of its own, and one that several share. */
const tokenPlans = [
  { requestsPerMinute: 12, clients: 1 },
  { requestsPerMinute: 20, clients: 3 },
  { requestsPerMinute: 1_000, clients: 2 },
];

/** Issues tokens, and changes them while clients use them. */
export class Operator {
  readonly tokens: ClientToken[] = [];
  readonly ended: EndedText[] = [];
  readonly #network: Network;
  readonly #process = new WorldProcess('operator');
  readonly #identity;

  constructor(network: Network) {
    this.#network = network;
    const channel = this.#process.run(() => new RpcChannel(network, 'identity', [`identity-1:${rpcPort}`]));
    this.#identity = channel.client(IdentityService);
  }

  async issueTokens(): Promise<void> {
    const issuing = this.#process.run(async () => {
      for (const [index, { requestsPerMinute, clients }] of tokenPlans.entries()) {
        const limits = { requestsPerMinute, tokensPerDay: 1_000_000_000n };
        const issued = await this.#identity.issue({ kind: TokenKind.SERVICE, label: `token ${index}`, limits });
        this.tokens.push({ tokenId: issued.token?.tokenId ?? '', text: issued.tokenText, requestsPerMinute, clients });
      }
    });
    await this.#network.world.runFor(issuing, 5_000);
  }

  /** Replaces a token's text. Its clients learn the new one late. Tried until identity answers. */
  rotate(token: ClientToken, learnAfterMs: number): void {
    void this.#process.run(async () => {
      const { text: before, tokenId } = token;
      const rotated = await this.#untilAnswered(() => this.#identity.rotate({ tokenId, keepOldSeconds: 0 }));
      this.ended.push({ text: before, atMs: this.#network.world.nowMs });
      await sleep(learnAfterMs);
      token.text = rotated.tokenText;
    });
  }

  /** Lowers a limit for a while: no request is admitted beyond the limit that clients know. */
  limit({ tokenId, requestsPerMinute: usual }: ClientToken, forMs: number, chance: Chance): void {
    const change = (requestsPerMinute: number) =>
      this.#untilAnswered(() =>
        this.#identity.update({ tokenId, limits: { requestsPerMinute, tokensPerDay: 1_000_000_000n } }),
      );
    void this.#process.run(async () => {
      await change(chance.between(1, usual));
      await sleep(forMs);
      await change(usual);
    });
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
