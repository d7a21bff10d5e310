import type { IncomingMessage } from 'node:http';
import { JsonBody, type JsonSkimmer, PiecedBytes } from '@gateway/json';
import { brokenOff } from './body-rules.ts';
import { GatheredBytes } from './gathered-bytes.ts';

/**
 * The rest of a plain body of known length that is so small that nobody else needs a turn before it is here: most clients send the
 * head first. As reading its stream, but without a promise for each piece. Room for it has been made.
 */
export function awaitBody(request: IncomingMessage, bytes: number, skimmer: JsonSkimmer): Promise<JsonBody> {
  return new Promise((resolve, reject) => {
    const gathered = new GatheredBytes(bytes);
    const settle = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onFault).off('close', onClose);
    };
    const attempt = (act: () => void): void => {
      try {
        act();
      } catch (badJson) {
        settle();
        reject(badJson);
      }
    };
    const onData = (chunk: Buffer): void =>
      attempt(() => {
        skimmer.push(chunk);
        gathered.add(chunk);
      });
    const onEnd = (): void =>
      attempt(() => {
        skimmer.end();
        settle();
        resolve(new JsonBody(new PiecedBytes([gathered.bytes()]), skimmer));
      });
    const onFault = (fault: unknown): void => {
      settle();
      reject(brokenOff(fault));
    };
    const onClose = (): void => onFault(new Error('the connection was closed'));
    request.on('end', onEnd).on('error', onFault).on('close', onClose).on('data', onData);
  });
}
