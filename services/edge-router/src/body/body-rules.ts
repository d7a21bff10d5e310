import { GatewayError } from '@gateway/errors';
import type { BodyHold } from './body-budget.ts';

export interface BodyRules {
  /** Counted on decoded bytes. */
  readonly limitBytes: number;
  readonly acceptsCompression: boolean;
  /** Where the bytes are accounted while they are held; nowhere when absent. */
  readonly hold?: BodyHold;
}

/** No encoding makes a text so much longer: what is over this is sent to be received, not to be decoded. */
export function encodedLimitBytes({ limitBytes }: BodyRules): number {
  return limitBytes + Math.ceil(limitBytes / 128) + 1_024;
}

export function tooLarge({ limitBytes }: BodyRules): GatewayError {
  return new GatewayError(
    'body_too_large',
    `The body is over this endpoint's limit of ${limitBytes / 1024 / 1024} MiB.`,
  );
}

/** What became of the bytes of a body that could not be read to their end. */
export function brokenOff(cause: unknown): GatewayError {
  if (cause instanceof GatewayError) return cause;
  return new GatewayError('invalid_body', 'The body could not be decoded, or it broke off.', { cause });
}
