import { GatewayError } from '@gateway/errors';
import { translationWorker } from '../translation/translation-worker.ts';

/**
 * Obeys commands in the body; any other body is repeated in capitals, with the model of its lease.
 */
export const translate = translationWorker((body, { lease }) => {
  const text = Buffer.from(body).toString();
  if (text.startsWith('refuse')) throw new GatewayError('unsupported_content', 'messages[0] is not for this model');
  if (text.startsWith('throw')) throw new RangeError('a fault with words of a client');
  if (text.startsWith('die')) process.exit(1);
  return {
    body: `${lease.model}: ${text.toUpperCase()}`,
    answer: { stream: true, includeUsage: false, wantsJson: true },
  };
});
