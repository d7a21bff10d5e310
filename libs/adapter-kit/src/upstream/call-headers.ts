import type { ProviderAccount } from '../credentials/credential-cache.ts';

type Headers = Readonly<Record<string, string>>;

/** The headers of calls with a body: those of every call, the format's, the call's own, and the account's secret. */
export class CallHeaders {
  readonly #constant: Headers;
  /** By those of the call's own headers that many calls share. */
  readonly #byAccount = new WeakMap<ProviderAccount, WeakMap<Headers, Headers>>();

  constructor(formatHeaders: Headers) {
    this.#constant = { ...jsonHeaders, ...formatHeaders };
  }

  of(account: ProviderAccount, own: Headers): Headers {
    // Only what can't be changed is shared; any other object is not seen again.
    if (!Object.isFrozen(own)) return this.#joined(account, own);
    const shared = this.#sharedOf(account);
    const known = shared.get(own);
    if (known !== undefined) return known;
    const headers = Object.freeze(this.#joined(account, own));
    shared.set(own, headers);
    return headers;
  }

  #joined(account: ProviderAccount, own: Headers): Headers {
    return { ...this.#constant, ...own, ...account.secretHeader };
  }

  #sharedOf(account: ProviderAccount): WeakMap<Headers, Headers> {
    const known = this.#byAccount.get(account);
    if (known !== undefined) return known;
    const headers = new WeakMap<Headers, Headers>();
    this.#byAccount.set(account, headers);
    return headers;
  }
}

/** Answers must come as they are: bytes are relayed and read as they arrive. */
const jsonHeaders: Headers = {
  'content-type': 'application/json',
  accept: 'text/event-stream',
  // Said aloud: who says nothing may be sent any encoding.
  'accept-encoding': 'identity',
  'user-agent': 'model-gateway',
};
