import type { Lease } from '@gateway/proto/pool/v1/account_pb.js';
import type { PreparedCall } from '../provider-format.ts';

/** A request that is ready to be sent. */
export interface AttemptedCall {
  readonly requestId: string;
  readonly lease: Lease;
  /** Size of the client's body. */
  readonly bodyBytes: number;
  /** See `estimateInputTokens`. */
  readonly estimatedTokens: number;
  readonly prepared: PreparedCall;
  /** See `Translator.passesErrorsOn`. */
  readonly passesErrorsOn: boolean;
}
