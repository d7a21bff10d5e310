import { GatewayError, notNow, toGatewayError } from '@gateway/errors';
import { isNotNow } from '@gateway/rpc';

/**
 * What a client learns of any failure. A service that gave no answer is no fault of the gateway,
 * for whatever reason: this request can't be served now, and a later one can.
 * @see spec "Codes"
 */
export function toClientError(thrown: unknown): GatewayError {
  if (thrown instanceof GatewayError || !isNotNow(thrown)) return toGatewayError(thrown);
  return notNow('The gateway is too busy at the moment. Try again later.', thrown);
}
