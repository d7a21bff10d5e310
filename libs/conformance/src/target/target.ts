import type { Endpoint } from './gateway-client.ts';

/** The gateway under test, and what it says of itself. */
export interface Target {
  /** Without `/v1`. */
  readonly url: string;
  readonly token: string;
  /** A token that may ask only `limitedRequestsPerMinute` times a minute. */
  readonly limitedToken?: string;
  readonly limitedRequestsPerMinute?: number;
  /** The model to ask, for each endpoint that the gateway claims. Others are not tried. */
  readonly models: Readonly<Partial<Record<Endpoint, string>>>;
  /** Sent with every request, for gateways that choose the provider by headers. */
  readonly headers?: Readonly<Record<string, string>>;
  /** The double is reached through at least two accounts. */
  readonly hasSecondAccount?: boolean;
}
