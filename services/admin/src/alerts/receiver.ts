import type { Secret } from '@gateway/config';

/** A receiver in gateway.yaml. */
export interface Receiver {
  readonly name: string;
  readonly format: 'slack' | 'json';
  readonly url: Secret;
  readonly secret: Secret | undefined;
  readonly kinds: ReadonlySet<string>;
}
