import type { FaultScript } from '@gateway/simulator';
import { issueToken, type TokenOptions } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import {
  type AccountFormat,
  type ContractAccount,
  contractAccounts,
  crowdedAccount,
  sparedAccounts,
} from './contract-accounts.ts';
import type { TokenKind } from './contract-case.ts';
import { type PostEndpoint, post } from './endpoints.ts';
import { send } from './send.ts';

/** The accounts of a gateway that no case has used up. */
export class FreshAccounts {
  readonly #left = { responses: [...contractAccounts('responses')], messages: [...contractAccounts('messages')] };

  take(format: AccountFormat): ContractAccount {
    const account = this.#left[format].shift();
    if (account === undefined) throw new Error(`contract-accounts.ts has too few accounts of the format ${format}`);
    return account;
  }
}

/**
 * The context of one case: a gateway, a token, accounts and faults of its own. Disposing of it
 * removes its faults.
 */
export class Scene implements AsyncDisposable {
  readonly gateway: Topology;
  readonly kind: TokenKind;
  /** A token with both limits, out of reach, or a personal one. */
  readonly token: string;
  readonly #accounts: FreshAccounts;
  readonly #cleanup = new AsyncDisposableStack();

  private constructor(gateway: Topology, kind: TokenKind, token: string, accounts: FreshAccounts) {
    this.gateway = gateway;
    this.kind = kind;
    this.token = token;
    this.#accounts = accounts;
  }

  static async open(gateway: Topology, kind: TokenKind, accounts: FreshAccounts): Promise<Scene> {
    const { text } = await issueToken(gateway, { kind, requestsPerMinute: 100, tokensPerDay: 1_000_000 });
    return new Scene(gateway, kind, text, accounts);
  }

  /** An account that no other case uses, with its faults. */
  faultyAccount(endpoint: PostEndpoint, fault: FaultScript['fault']): ContractAccount {
    const account = this.#accounts.take(endpoint.format);
    this.fault({ account: account.credential, path: endpoint.upstreamPath, fault });
    return account;
  }

  /** Slows a provider's streams down, so that their beginning is sent before they break off. */
  slowStreams(credential: string): void {
    this.fault({ account: credential, fault: { kind: 'delay', betweenEventsMs: 10 } });
  }

  fault(script: FaultScript): void {
    const id = this.gateway.simulator.faults.add(script);
    this.#cleanup.defer(() => this.gateway.simulator.faults.clear(id));
  }

  async tokenWith(limits: Required<Pick<TokenOptions, 'requestsPerMinute' | 'tokensPerDay'>>): Promise<string> {
    return (await issueToken(this.gateway, limits)).text;
  }

  /** An account that is limited at its next request, and that others can replace. */
  limitedAccountWithSpares({ format, upstreamPath: path }: PostEndpoint): ContractAccount {
    const [account] = sparedAccounts(format);
    if (account === undefined) throw new Error('there are no accounts to spare');
    const fault = { preset: 'rate_limited_retry_after', resetAfterSeconds: 600 } as const;
    this.fault({ model: account.model, path, times: 1, fault });
    return account;
  }

  /**
   * Occupies the only slot of an account, with a request that is not answered before the scene
   * ends.
   */
  async crowd(endpoint: PostEndpoint): Promise<ContractAccount> {
    const account = crowdedAccount(endpoint.format);
    const received = () =>
      this.gateway.simulator.requests({ account: account.credential, path: endpoint.upstreamPath }).length;
    const before = received();
    this.fault({ account: account.credential, path: endpoint.upstreamPath, fault: { kind: 'stall' } });
    const leaving = new AbortController();
    const waiting = send(
      this.gateway,
      post(endpoint, this.token, endpoint.body(account[endpoint.addresses], 'wait')),
      leaving.signal,
    ).catch(() => undefined);
    this.#cleanup.defer(async () => {
      leaving.abort();
      await waiting;
    });
    while (received() === before) await new Promise((resolve) => setTimeout(resolve, 10));
    return account;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#cleanup.disposeAsync();
  }
}
