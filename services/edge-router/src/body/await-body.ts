import type { IncomingMessage } from 'node:http';
import type { JsonBody } from '@gateway/json';
import type { BodyIntake } from './body-intake.ts';
import { brokenOff } from './body-rules.ts';

/**
 * The rest of a plain body that is still to come. As reading its stream, but without a promise for each piece. Room for it has
 * been made.
 */
export function awaitBody(request: IncomingMessage, intake: BodyIntake): Promise<JsonBody> {
  return new Promise((resolve, reject) => {
    const settle = (): void => {
      request.off('data', onData).off('end', onEnd).off('error', onFault).off('close', onClose);
    };
    const fail = (reason: unknown): void => {
      settle();
      // Whoever answers decides what becomes of the rest.
      request.pause();
      reject(reason);
    };
    const attempt = (act: () => void): void => {
      try {
        act();
      } catch (thrown) {
        fail(thrown);
      }
    };
    const onData = (chunk: Buffer): void =>
      attempt(() => {
        const turn = intake.take(chunk);
        if (turn === undefined) return;
        // Nothing more is told while it waits for its turn, not even the end.
        request.pause();
        turn.then(() => request.resume(), fail);
      });
    const onEnd = (): void =>
      attempt(() => {
        const body = intake.finish();
        settle();
        resolve(body);
      });
    const onFault = (fault: unknown): void => fail(brokenOff(fault));
    const onClose = (): void => onFault(new Error('the connection was closed'));
    request.on('end', onEnd).on('error', onFault).on('close', onClose).on('data', onData);
  });
}
