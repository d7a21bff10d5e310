import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Heartbeats, type KeptAlive } from './heartbeats.ts';

class FakeStream implements KeptAlive {
  readonly comments: string[] = [];
  write(comment: string): void {
    this.comments.push(comment);
  }
}

describe('a stream that is kept alive', () => {
  const silentMs = 15_000;
  let heartbeats: Heartbeats;

  beforeEach(() => {
    vi.useFakeTimers();
    heartbeats = new Heartbeats(silentMs);
  });
  afterEach(() => {
    heartbeats[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('is sent a comment when it has been silent for so long, at most a second late, again and again', () => {
    const stream = new FakeStream();
    using _heartbeat = heartbeats.of(stream);
    vi.advanceTimersByTime(silentMs - 1);
    expect(stream.comments).toEqual([]);
    vi.advanceTimersByTime(1_001);
    expect(stream.comments).toEqual([': keep-alive\n\n']);
    vi.advanceTimersByTime(silentMs + 1_000);
    expect(stream.comments).toHaveLength(2);
  });

  it('is sent none while something else is sent in time, whenever in a second that is', () => {
    const stream = new FakeStream();
    using heartbeat = heartbeats.of(stream);
    for (let sent = 0; sent < 20; sent++) {
      vi.advanceTimersByTime(silentMs - 37);
      heartbeat.sent();
    }
    expect(stream.comments).toEqual([]);
  });

  it('is sent none after its end, while others are', () => {
    const ended = new FakeStream();
    const other = new FakeStream();
    const heartbeat = heartbeats.of(ended);
    using _other = heartbeats.of(other);
    heartbeat[Symbol.dispose]();
    vi.advanceTimersByTime(silentMs * 2);
    expect(ended.comments).toEqual([]);
    expect(other.comments).toHaveLength(1);
  });

  it('costs no timer when there is no stream, and one for all', () => {
    expect(vi.getTimerCount()).toBe(0);
    const both = [heartbeats.of(new FakeStream()), heartbeats.of(new FakeStream())];
    expect(vi.getTimerCount()).toBe(1);
    for (const heartbeat of both) heartbeat[Symbol.dispose]();
    expect(vi.getTimerCount()).toBe(0);
  });
});
