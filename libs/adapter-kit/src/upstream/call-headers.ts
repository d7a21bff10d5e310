import type { ProviderAccount } from '../credentials/credential-cache.ts';

type Headers = Readonly<Record<string, string>>;

/** The headers of calls with a body: those of every call, the format's, the call's own, and the account's secret. */
export class CallHeaders {
  readonly #constant: Headers;
  /** For calls that have none of their own, as translated ones. */
  readonly #byAccount = new WeakMap<ProviderAccount, Headers>();

  constructor(formatHeaders: Headers) {
    this.#constant = { ...jsonHeaders, ...formatHeaders };
  }

  of(account: ProviderAccount, own: Headers): Headers {
    if (!isEmpty(own)) return { ...this.#constant, ...own, ...account.secretHeader };
    const known = this.#byAccount.get(account);
    if (known !== undefined) return known;
    const headers = { ...this.#constant, ...account.secretHeader };
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

function isEmpty(headers: Headers): boolean {
  for (const _ in headers) return false;
  return true;
}
