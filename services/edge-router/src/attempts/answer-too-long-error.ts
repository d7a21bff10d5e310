import { GatewayError } from '@gateway/errors';

/** The gateway has ended an answer because it lasted too long. It says nothing of the provider's account. */
export class AnswerTooLongError extends GatewayError {
  constructor(cause: unknown) {
    super('providers_unavailable', 'The answer took longer than the gateway lets answers take.', { cause });
  }
}
