import { setTimeout as sleep } from 'node:timers/promises';
import { createLogger } from '@gateway/telemetry';
import { describe, expect, it } from 'vitest';
import { ChangeFeed, type ChangeSource } from './change-feed.ts';

/** Changes in memory, numbered from 1. */
class Changes implements ChangeSource {
  readonly ids: string[] = [];
  failing = false;

  async lastSequence() {
    return this.ids.length;
  }

  async changesAfter(sequence: number) {
    if (this.failing) throw new Error('no database');
    return { tokenIds: this.ids.slice(sequence), lastSequence: this.ids.length };
  }
}

const silent = createLogger('test', 'silent');
const never = new AbortController().signal;

describe('the change feed', () => {
  it('begins with an empty batch, and has only what changes after it', async () => {
    const changes = new Changes();
    changes.ids.push('before');
    const batches = new ChangeFeed(changes, silent, 5).watch(never);
    expect((await batches.next()).value).toEqual([]);
    changes.ids.push('a', 'b');
    expect((await batches.next()).value).toEqual(['a', 'b']);
    changes.ids.push('c');
    expect((await batches.next()).value).toEqual(['c']);
  });

  it('looks at once when its own process changed something', async () => {
    const changes = new Changes();
    const feed = new ChangeFeed(changes, silent, 3_600_000);
    const batches = feed.watch(never);
    await batches.next();
    const next = batches.next();
    await sleep(5);
    changes.ids.push('a');
    feed.announce();
    expect((await next).value).toEqual(['a']);
  });

  it('does not lose an announcement made while the watcher is busy', async () => {
    const changes = new Changes();
    const feed = new ChangeFeed(changes, silent, 3_600_000);
    const batches = feed.watch(never);
    await batches.next();
    changes.ids.push('a');
    await batches.next();
    changes.ids.push('b');
    feed.announce();
    expect((await batches.next()).value).toEqual(['b']);
  });

  it('catches up after the database was away', async () => {
    const changes = new Changes();
    const batches = new ChangeFeed(changes, silent, 5).watch(never);
    await batches.next();
    changes.failing = true;
    const next = batches.next();
    await sleep(20);
    changes.ids.push('a');
    changes.failing = false;
    expect((await next).value).toEqual(['a']);
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const batches = new ChangeFeed(new Changes(), silent, 3_600_000).watch(controller.signal);
    await batches.next();
    const next = batches.next();
    controller.abort();
    expect(await next).toEqual({ value: undefined, done: true });
  });
});
