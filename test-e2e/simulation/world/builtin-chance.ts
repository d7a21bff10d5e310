import crypto from 'node:crypto';
import { syncBuiltinESMExports } from 'node:module';
import timers from 'node:timers';
import timerPromises from 'node:timers/promises';
import { activeWorld, isSimulated } from './platform.ts';
import { timeSourceOf } from './time-source.ts';

/** Until all code takes time and chance from `@gateway/time`: the same from Node's own modules. */
const { setImmediate, setTimeout, setInterval, clearTimeout, clearInterval, clearImmediate } = globalThis;
const real = { ...crypto, laterTurn: timerPromises.setImmediate, later: timerPromises.setTimeout };

Object.assign(timers, { setImmediate, setTimeout, setInterval, clearTimeout, clearInterval, clearImmediate });

Object.assign(timerPromises, {
  setImmediate: (value?: unknown, options: { signal?: AbortSignal } = {}) =>
    isSimulated() ? ended(options.signal, value, (resolve) => setImmediate(resolve)) : real.laterTurn(value, options),
  setTimeout: (delayMs = 1, value?: unknown, options: { signal?: AbortSignal } = {}) =>
    isSimulated()
      ? ended(options.signal, value, (resolve) => setTimeout(resolve, delayMs))
      : real.later(delayMs, value, options),
});

function ended(signal: AbortSignal | undefined, value: unknown, start: (resolve: () => void) => object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = () => {
      clearTimeout(planned as NodeJS.Timeout);
      clearImmediate(planned as NodeJS.Immediate);
      reject(Object.assign(new Error('The operation was aborted'), { name: 'AbortError', code: 'ABORT_ERR' }));
    };
    const planned = start(() => {
      signal?.removeEventListener('abort', fail);
      resolve(value);
    });
    if (signal?.aborted) fail();
    else signal?.addEventListener('abort', fail, { once: true });
  });
}

const bytes = (size: number) => timeSourceOf(activeWorld()).randomBytes(size);

function uuid(version: number): string {
  const made = bytes(16);
  if (version === 7) made.writeUIntBE(Date.now(), 0, 6);
  made.writeUInt8((version << 4) | (made.readUInt8(6) & 0x0f), 6);
  made.writeUInt8(0x80 | (made.readUInt8(8) & 0x3f), 8);
  return made.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

Object.assign(crypto, {
  randomUUID: (...given: Parameters<typeof crypto.randomUUID>) => (isSimulated() ? uuid(4) : real.randomUUID(...given)),
  randomUUIDv7: () => (isSimulated() ? uuid(7) : real.randomUUIDv7()),
  randomBytes: (size: number) => (isSimulated() ? bytes(size) : real.randomBytes(size)),
  randomInt: (limit: number) =>
    isSimulated() ? Math.floor(timeSourceOf(activeWorld()).random() * limit) : real.randomInt(limit),
});
const random = Math.random;
Math.random = () => (isSimulated() ? timeSourceOf(activeWorld()).random() : random());
syncBuiltinESMExports();
