import type { CredentialService, GetCredentialResponse } from '@gateway/proto/pool/v1/pool_broker_service_pb.js';
import { type Client, UnaryCall } from '@gateway/rpc';
import { epochMs } from '@gateway/time';

/** An account at a provider: its address and its credential. */
export interface ProviderAccount {
  readonly accountId: string;
  /** "https://api.example.com" */
  readonly origin: string;
  /** The origin in spans: "api.example.com", 443. */
  readonly host: string;
  readonly port: number;
  /** The path of the base URL, without a trailing slash: "/v1". */
  readonly basePath: string;
  /** The header that contains the secret. */
  readonly secretHeader: Readonly<Record<string, string>>;
  /** Epoch milliseconds until which this may be used without asking again. */
  readonly cacheableUntilMs: number;
  /** Differs between the account's secrets. Empty: there is only one. */
  readonly version: string;
}

/** The accounts' secrets. Each is requested once per period in which it may be cached. */
export class CredentialCache {
  readonly #client: Client<typeof CredentialService>;
  readonly #accounts = new Map<string, ProviderAccount>();
  readonly #underWay = new Map<string, Promise<ProviderAccount>>();
  /** Versions of secrets that a provider refused, by account, until the broker knows. */
  readonly #refused = new Map<string, string>();

  constructor(client: Client<typeof CredentialService>) {
    this.#client = client;
  }

  /**
   * The account of a lease. Concurrent calls for one account share a request. An answer that comes
   * too late for them is kept for the next ones. Throws what the service throws.
   */
  async ofAccount(accountId: string): Promise<ProviderAccount> {
    const cached = this.#accounts.get(accountId);
    if (cached !== undefined && epochMs() < cached.cacheableUntilMs) return cached;
    const fetching = this.#underWay.getOrInsertComputed(accountId, () =>
      this.#fetch(accountId).finally(() => this.#underWay.delete(accountId)),
    );
    return new UnaryCall<ProviderAccount>(patience).run(() => fetching);
  }

  /** The same with the credential that the account has now, even if an older one may be used. */
  async ofAccountNow(accountId: string): Promise<ProviderAccount> {
    this.#accounts.delete(accountId);
    return await this.ofAccount(accountId);
  }

  /** Any usable account of a pool. */
  async ofPool(pool: string): Promise<ProviderAccount> {
    return new UnaryCall<ProviderAccount>(patience).run(() => this.#ask({ target: { case: 'pool', value: pool } }));
  }

  /** Called when the provider refuses this secret: the next call requests another one. */
  drop(account: ProviderAccount): void {
    const { accountId, version } = account;
    const kept = this.#accounts.get(accountId);
    // A new secret may have been requested since the refused request was sent.
    if (kept !== undefined && sameSecret(kept, account)) this.#accounts.delete(accountId);
    if (!this.#accounts.has(accountId) && version !== '') this.#refused.set(accountId, version);
  }

  async #fetch(accountId: string): Promise<ProviderAccount> {
    const refusedVersion = this.#refused.get(accountId) ?? '';
    const target = { case: 'accountId' as const, value: accountId };
    const account = await this.#ask({ target, refusedVersion });
    // It was refused while this request was in flight, so the broker does not know yet.
    if (refusedVersion === '' && account.version !== '' && account.version === this.#refused.get(accountId))
      return this.#fetch(accountId);
    this.#dropExpired();
    this.#accounts.set(accountId, account);
    if (this.#refused.get(accountId) === refusedVersion) this.#refused.delete(accountId);
    return account;
  }

  /** The answer may be cached from the question on: the broker answers later. */
  async #ask(question: Parameters<Client<typeof CredentialService>['getCredential']>[0]): Promise<ProviderAccount> {
    const askedAtMs = epochMs();
    return toProviderAccount(await this.#client.getCredential(question, deadline), askedAtMs);
  }

  /** Secrets of removed accounts must not stay in memory. */
  #dropExpired(): void {
    const nowMs = epochMs();
    for (const [accountId, { cacheableUntilMs }] of this.#accounts) {
      if (cacheableUntilMs <= nowMs) this.#accounts.delete(accountId);
    }
  }
}

/** How long a call waits for an answer, and how late the answer is still used. */
const patience = { timeoutMs: 5_000 };
const deadline = { timeoutMs: 60_000 };

export function sameSecret(a: ProviderAccount, b: ProviderAccount): boolean {
  return JSON.stringify(a.secretHeader) === JSON.stringify(b.secretHeader);
}

function toProviderAccount(response: GetCredentialResponse, askedAtMs: number): ProviderAccount {
  const { accountId, baseUrl, secret, cacheableForMs, version } = response;
  const url = new URL(baseUrl);
  return {
    accountId,
    origin: url.origin,
    host: url.hostname,
    port: Number(url.port) || (url.protocol === 'https:' ? 443 : 80),
    basePath: url.pathname.replace(/(?<!\/)\/+$/, ''),
    secretHeader: toSecretHeader(secret),
    cacheableUntilMs: askedAtMs + cacheableForMs,
    version,
  };
}

function toSecretHeader({ case: kind, value }: GetCredentialResponse['secret']): Readonly<Record<string, string>> {
  if (kind === undefined) return {};
  return kind === 'bearer' ? { authorization: `Bearer ${value}` } : { 'x-api-key': value };
}
