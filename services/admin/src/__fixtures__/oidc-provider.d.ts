/** The part of the API that the tests use: the package has no types of its own. */
declare module 'oidc-provider' {
  import type { RequestListener } from 'node:http';

  export interface Account {
    readonly accountId: string;
    claims(): Promise<Readonly<Record<string, unknown>> & { readonly sub: string }>;
  }

  interface Params {
    readonly grant_type?: unknown;
  }

  export default class Provider {
    constructor(issuer: string, configuration: object);
    callback(): RequestListener;
    on(event: 'grant.success', listener: (context: { readonly oidc: { readonly params?: Params } }) => void): void;
  }
}
