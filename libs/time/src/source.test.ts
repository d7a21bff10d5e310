import { setTimeout as nodeSleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { ScriptedSource } from './__fixtures__/scripted-source.ts';
import { ManualTime, useTimeSource } from './simulated.ts';
import {
  beforeSourceChange,
  cancelImmediate,
  cancelTimer,
  EventLoopYield,
  epochMs,
  monotonicMs,
  random,
  randomBytes,
  randomId,
  randomInteger,
  sleep,
  startImmediate,
  startInterval,
  startProcessInterval,
  startTimer,
  timeOrderedId,
  timeoutSignal,
  yieldToEventLoop,
} from './time.ts';

const failureOf = (work: Promise<unknown>) => work.then(() => undefined).catch((thrown: unknown) => thrown);

describe("the system's time", () => {
  afterEach(() => void vi.useRealTimers());

  it('follows the fake timers of tests, also when code sleeps', async () => {
    vi.useFakeTimers({ now: 5_000 });
    const ran: string[] = [];
    startTimer(() => ran.push('timer'), 10);
    const interval = startInterval(() => ran.push('interval'), 4);
    const cancelled = startTimer(() => ran.push('cancelled'), 10);
    void sleep(9).then(() => ran.push('slept'));
    const startedMs = monotonicMs();
    cancelTimer(cancelled);
    await vi.advanceTimersByTimeAsync(10);
    cancelTimer(interval);
    await vi.advanceTimersByTimeAsync(10);
    expect(ran).toEqual(['interval', 'interval', 'slept', 'timer']);
    expect([epochMs(), monotonicMs() - startedMs]).toEqual([5_020, 20]);
  });

  it('runs an interval of the process while a test has fake timers', async () => {
    vi.useFakeTimers();
    const { promise, resolve } = Promise.withResolvers<void>();
    using _interval = startProcessInterval(resolve, 1);
    await promise;
  });

  it('yields to input and output that are ready', async () => {
    const ran: string[] = [];
    cancelImmediate(startImmediate(() => ran.push('cancelled')));
    startImmediate(() => ran.push('immediate'));
    await yieldToEventLoop();
    expect(ran).toEqual(['immediate']);
  });

  it('cancels what was never started', () => {
    cancelTimer(undefined);
    cancelImmediate(undefined);
  });

  it.each(['before', 'during'])('ends a sleep whose signal aborts %s it as Node does', async (when) => {
    const controller = new AbortController();
    if (when === 'before') controller.abort(new Error('left'));
    const options = { signal: controller.signal };
    const failures = Promise.all([failureOf(sleep(60_000, options)), failureOf(nodeSleep(60_000, undefined, options))]);
    controller.abort(new Error('left'));
    const [own, ofNode] = (await failures) as [Error & { code: string }, Error & { code: string }];
    expect(own).toBeInstanceOf(Error);
    expect([own.name, own.message, own.code, own.cause]).toEqual([
      ofNode.name,
      ofNode.message,
      ofNode.code,
      ofNode.cause,
    ]);
  });

  it('keeps no listener of a signal after a sleep', async () => {
    const { signal } = new AbortController();
    const removed = vi.spyOn(signal, 'removeEventListener');
    await sleep(1, { signal, ref: false });
    expect(removed).toHaveBeenCalledWith('abort', expect.any(Function));
  });
});

describe("a source that replaces the system's", () => {
  it('decides every instant, timer and random value', async () => {
    const source = new ScriptedSource();
    using _replaced = useTimeSource(source);
    const ran: string[] = [];
    startTimer(() => ran.push('timer'), 50);
    const cancelled = startTimer(() => ran.push('cancelled'), 10);
    const interval = startInterval(() => ran.push('interval'), 40);
    startProcessInterval(() => ran.push('process'), 60);
    void sleep(30).then(() => ran.push('slept'));
    void new EventLoopYield().spend(2 ** 20).then(() => ran.push('yielded'));
    const late = timeoutSignal(70);
    cancelTimer(cancelled);
    await source.advance(80);
    cancelTimer(interval);
    expect(ran).toEqual(['yielded', 'slept', 'interval', 'timer', 'process', 'interval']);
    expect([epochMs(), monotonicMs()]).toEqual([1_000_080, 80]);
    const { name, message } = await reasonOf(AbortSignal.timeout(0));
    expect(late.reason).toMatchObject({ name, message });
    expect(late.reason).toBeInstanceOf(DOMException);
  });

  it('makes the same random values again from the same seed', () => {
    const values = () => {
      using _replaced = useTimeSource(new ScriptedSource());
      return [random(), randomInteger(62), randomBytes(4).toString('hex'), randomId(), timeOrderedId(), randomId()];
    };
    expect(values()).toEqual(values());
    expect(new Set(values()).size).toBe(6);
  });

  it('makes ids of the same form as the system', () => {
    const ids = [randomId(), timeOrderedId()];
    using _replaced = useTimeSource(new ScriptedSource());
    ids.push(randomId(), timeOrderedId());
    const form = /^[0-9a-f]{8}-[0-9a-f]{4}-([47])[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
    expect(ids.map((id) => form.exec(id)?.[1])).toEqual(['4', '7', '4', '7']);
    expect(Number.parseInt(ids[3]?.replace('-', '').slice(0, 12) ?? '', 16)).toBe(epochMs());
  });

  it('gives way to the system at its disposal', () => {
    useTimeSource(new ScriptedSource())[Symbol.dispose]();
    expect(epochMs()).toBeGreaterThan(Date.parse('2025-01-01'));
    expect(randomInteger(1)).toBe(0);
  });

  it('is announced before it begins and before it ends', () => {
    const seenMs: number[] = [];
    beforeSourceChange(() => seenMs.push(epochMs()));
    useTimeSource(new ScriptedSource())[Symbol.dispose]();
    expect(seenMs).toEqual([expect.any(Number), 1_000_000]);
    expect(seenMs[0]).toBeGreaterThan(Date.parse('2025-01-01'));
  });
});

describe('the time of day of a test', () => {
  it('moves only when the test moves it, while timers and durations are those of the system', async () => {
    {
      using time = new ManualTime(1_000_000);
      const startedMs = monotonicMs();
      await sleep(1);
      expect([epochMs(), monotonicMs() > startedMs]).toEqual([1_000_000, true]);
      time.advanceMs(5);
      expect([epochMs(), time.nowMs]).toEqual([1_000_005, 1_000_005]);
      time.setMs(7);
      expect(epochMs()).toBe(7);
    }
    expect(epochMs()).toBeGreaterThan(Date.parse('2025-01-01'));
  });

  it('is later for what runs on a machine whose clock is ahead, and for what that starts', async () => {
    using time = new ManualTime(1_000_000);
    const seenMs = time.ahead(5_000, async () => {
      await sleep(1);
      return epochMs();
    });
    expect(epochMs()).toBe(1_000_000);
    expect(await seenMs).toBe(1_005_000);
    expect(time.ahead(-1, epochMs)).toBe(999_999);
  });
});

function reasonOf(signal: AbortSignal): Promise<Error> {
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(signal.reason), { once: true });
  });
}
