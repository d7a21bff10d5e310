import { syncBuiltinESMExports } from 'node:module';
import timerPromises from 'node:timers/promises';
import { sleep, yieldToEventLoop } from '@gateway/time';
import { isSimulated } from './platform.ts';

/** The simulated providers, which stand outside a gateway, sleep by Node's own module. */
const { setImmediate: nextRealTurn, setTimeout: realSleep } = timerPromises;

type SignalOptions = Readonly<{ signal?: AbortSignal }>;

Object.assign(timerPromises, {
  setImmediate: async (value?: unknown, options: SignalOptions = {}) => {
    if (!isSimulated()) return nextRealTurn(value, options);
    await yieldToEventLoop();
    options.signal?.throwIfAborted();
    return value;
  },
  setTimeout: async (delayMs = 1, value?: unknown, options: SignalOptions = {}) => {
    if (!isSimulated()) return realSleep(delayMs, value, options);
    await sleep(delayMs, options);
    return value;
  },
});
syncBuiltinESMExports();
