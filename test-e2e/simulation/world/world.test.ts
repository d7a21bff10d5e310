import { beforeEach, describe, expect, it } from 'vitest';
import { Network } from './network.ts';
import { World, WorldProcess } from './world.ts';

let world: World;
let happened: string[];
const note = (what: string) => () => void happened.push(`${world.elapsedMs} ${what}`);

beforeEach(() => {
  world = new World(1);
  happened = [];
});

describe('simulated time', () => {
  it('jumps from event to event, in their order', async () => {
    world.plan(5, note('second'));
    world.plan(1, note('first'));
    world.plan(5, note('third'));
    world.plan(9, note('later'));
    await world.runUntil(8);
    expect(happened).toEqual(['1 first', '5 second', '5 third']);
    expect(world.elapsedMs).toBe(8);
  });

  it('lets everything that an event causes run dry before the next', async () => {
    world.plan(1, () => void Promise.resolve().then(() => process.nextTick(note('caused'))));
    world.plan(1, note('next'));
    await world.runUntil(2);
    expect(happened).toEqual(['1 caused', '1 next']);
  });

  it('forgets a cancelled event', async () => {
    world.plan(1, note('never')).cancel();
    await world.runUntil(2);
    expect(happened).toEqual([]);
  });

  it('drops what a killed process had planned, also in its promises', async () => {
    const killed = new WorldProcess('killed');
    killed.run(() => world.plan(1, () => world.plan(1, note('after the kill'))));
    world.plan(1.5, () => killed.kill());
    await world.runUntil(5);
    expect(happened).toEqual([]);
  });

  it('ends a process between two steps of its promises', async () => {
    const killed = new WorldProcess('killed');
    killed.run(() =>
      world.plan(1, () => {
        note('began')();
        void (async () => {
          await undefined;
          note(killed.state)();
          for (let step = 0; step < 5; step++) await undefined;
          world.plan(1, note('never'));
          note(killed.state)();
        })();
      }),
    );
    killed.dieSoon(3, () => killed.kill());
    await world.runUntil(5);
    expect(happened).toEqual(['1 began', '1 running', '1 killed']);
  });

  it('keeps what a paused process had planned until it continues', async () => {
    const paused = new WorldProcess('paused');
    paused.run(() => world.plan(2, note('waited')));
    world.plan(1, () => paused.pause());
    world.plan(7, () => world.resume(paused));
    await world.runUntil(9);
    expect(happened).toEqual(['7 waited']);
  });
});

describe('the simulated network', () => {
  let network: Network;
  const client = new WorldProcess('client');
  let server: WorldProcess;

  beforeEach(() => {
    network = new Network(world);
    server = new WorldProcess('server');
    server.run(() => {
      network.listen(80, (end) =>
        end.listen({
          onMessage: (message) => note(`server got ${message}`)(),
          onEnd: note('server saw the end'),
          onLost: (code) => note(`server saw ${code}`)(),
        }),
      );
    });
  });

  const connect = () => {
    const end = client.run(() => network.connect('server:80'));
    end.listen({
      onOpen: note('open'),
      onMessage: () => undefined,
      onEnd: note('client saw the end'),
      onLost: (code) => note(`client saw ${code}`)(),
    });
    return end;
  };
  const what = () => happened.map((each) => each.replace(/^\S+ /, ''));

  it('delivers in order, then the end', async () => {
    const end = connect();
    for (const message of ['a', 'b', 'c']) end.send(message, 1);
    end.end();
    await world.runUntil(1_000);
    expect(what()).toEqual(['open', 'server got a', 'server got b', 'server got c', 'server saw the end']);
  });

  it('refuses connections to where nothing listens', async () => {
    const end = client.run(() => network.connect('server:81'));
    end.listen({ onMessage: () => undefined, onEnd: () => undefined, onLost: (code) => note(`client saw ${code}`)() });
    await world.runUntil(1_000);
    expect(what()).toEqual(['client saw ECONNREFUSED']);
  });

  it('holds everything back while it is cut, and delivers it afterwards', async () => {
    const end = connect();
    await world.runUntil(100);
    network.cut('client', 'server');
    end.send('late', 1);
    await world.runUntil(5_000);
    expect(what()).toEqual(['open']);
    network.heal('client', 'server');
    await world.runUntil(6_000);
    expect(what()).toEqual(['open', 'server got late']);
  });

  it('resets the connections of a killed process, unless the news is cut off', async () => {
    connect();
    await world.runUntil(100);
    server.kill();
    network.loseLinksOf(server);
    await world.runUntil(200);
    expect(what()).toEqual(['open', 'client saw ECONNRESET']);
  });

  it('stops a sender whose receiver does not read', async () => {
    const end = connect();
    await world.runUntil(100);
    server.pause();
    expect(end.send('much', 70_000)).toBe(false);
    end.whenRead(note('room again'));
    await world.runUntil(1_000);
    expect(what()).not.toContain('room again');
    world.resume(server);
    await world.runUntil(2_000);
    expect(what()).toContain('room again');
  });
});
