import { createHook } from 'node:async_hooks';
import { EventEmitter } from 'node:events';

// Loaded into a gateway before its own code (`--import`). Counts work that is not a function of
// JavaScript, and so is not in V8's coverage. `measureCounts` reads the counts through the
// debugger.

const counts = new Map<string, number>();

function count(name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

createHook({
  init(_id, type) {
    if (type === 'PROMISE') count('promises');
    if (type === 'Timeout') count('timers');
  },
}).enable();

/** Counts calls of a method without changing it. */
function countCalls(holder: object, method: string, name: string): void {
  const original: unknown = Reflect.get(holder, method);
  if (typeof original !== 'function') throw new Error(`There is no method ${method} to count.`);
  Reflect.set(holder, method, function counted(this: unknown, ...given: unknown[]) {
    count(name);
    return Reflect.apply(original, this, given);
  });
}

countCalls(Object.getPrototypeOf(async function* () {}.prototype), 'next', 'generatorSteps');
for (const method of ['on', 'addListener', 'once']) countCalls(EventEmitter.prototype, method, 'listeners');
countCalls(EventTarget.prototype, 'addEventListener', 'signalListeners');
countCalls(JSON, 'parse', 'jsonParses');

Reflect.set(globalThis, 'workCounts', {
  /** The counts since the last call. */
  take(): Readonly<Record<string, number>> {
    const taken = Object.fromEntries(counts);
    counts.clear();
    return taken;
  },
});
