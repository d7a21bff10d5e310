import { describe, expect, it } from 'vitest';
import { ClientPresence, type LeaveListener } from './client-presence.ts';

class Listener implements LeaveListener {
  told = 0;
  onClientLeft(): void {
    this.told += 1;
  }
}

describe('ClientPresence', () => {
  it('tells once that the client has left', () => {
    const client = new ClientPresence();
    const listener = new Listener();
    client.tell(listener);
    expect([client.hasLeft, listener.told]).toEqual([false, 0]);
    client.leave();
    client.leave();
    expect([client.hasLeft, listener.told]).toEqual([true, 1]);
  });

  it('tells only who asked last', () => {
    const client = new ClientPresence();
    const [earlier, later] = [new Listener(), new Listener()];
    client.tell(earlier);
    client.tell(later);
    client.leave();
    expect([earlier.told, later.told]).toEqual([0, 1]);
  });

  it('has one signal, whether it is read before the client leaves or after', () => {
    const [before, after] = [new ClientPresence(), new ClientPresence()];
    const { signal } = before;
    expect(signal.aborted).toBe(false);
    before.leave();
    after.leave();
    expect([signal.aborted, before.signal === signal, after.signal.aborted]).toEqual([true, true, true]);
  });
});
