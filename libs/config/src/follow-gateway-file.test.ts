import { describe, expect, it, onTestFinished } from 'vitest';
import { simulatedGatewayConfig } from './default-gateway.ts';
import { ConfigError } from './env-reader.ts';
import type { GatewayConfig } from './gateway-config.ts';
import { followGatewayFile } from './gateway-file.ts';

/** A file whose text is a digest, or an error, and that is only read on request. */
function follow(startsAs: string | Error = 'first') {
  let text: string | Error = startsAs;
  const read = () => {
    if (text instanceof Error) throw text;
    return text;
  };
  const load = (): GatewayConfig => {
    const digest = read();
    if (digest.startsWith('bad')) throw new ConfigError([`${digest}.place: is wrong`]);
    return { ...simulatedGatewayConfig('http://127.0.0.1:9'), source: { ...source, digest } };
  };
  const source = { path: '/nowhere/gateway.yaml', digest: 'first', digestNow: read, load };
  const applied: (string | undefined)[] = [];
  const refused: (readonly string[])[] = [];
  const stop = new AbortController();
  const ended = followGatewayFile(source, {
    signal: stop.signal,
    apply: async (gateway) => {
      applied.push(gateway.source?.digest);
    },
    onRefused: (problems) => refused.push(problems),
  });
  onTestFinished(() => stop.abort());
  const write = (next: string | Error) => {
    text = next;
  };
  const hangUp = () => process.emit('SIGHUP', 'SIGHUP');
  return { write, hangUp, applied, refused, stop, ended };
}

describe('a gateway.yaml that is followed', () => {
  it('is not read again as long as it says the same', async () => {
    const { applied, stop, ended } = follow();
    await new Promise((resolve) => setTimeout(resolve, 50));
    stop.abort();
    await ended;
    expect(applied).toEqual([]);
  });

  it('is read again when it changed between the start and the watch', async () => {
    const { applied } = follow('second');
    await expect.poll(() => applied).toEqual(['second']);
  });

  it('is read again on SIGHUP, changed or not', async () => {
    const { applied, hangUp } = follow();
    hangUp();
    await expect.poll(() => applied).toEqual(['first']);
    hangUp();
    await expect.poll(() => applied).toEqual(['first', 'first']);
  });

  it('is refused with every problem, and taken over once it is good again', async () => {
    const { applied, refused, write, hangUp } = follow('bad');
    await expect.poll(() => refused).toEqual([['bad.place: is wrong']]);
    write('good');
    hangUp();
    await expect.poll(() => applied).toEqual(['good']);
    expect(refused).toHaveLength(1);
  });

  it('is refused when it cannot be read', async () => {
    const { applied, refused } = follow(new ConfigError(["gateway.yaml: the file can't be read (ENOENT)."]));
    await expect.poll(() => refused).toEqual([["gateway.yaml: the file can't be read (ENOENT)."]]);
    expect(applied).toEqual([]);
  });

  it('is refused without the words of errors that may quote it', async () => {
    const { refused } = follow(new TypeError('sk-canary is no key'));
    await expect.poll(() => refused).toEqual([['it could not be applied: TypeError']]);
  });

  it('is not read while it is being written', async () => {
    const { applied, refused, write } = follow('bad 0');
    for (let n = 1; n <= 20; n++) {
      await new Promise((resolve) => setTimeout(resolve, 30));
      write(`bad ${n}`);
    }
    write('whole');
    await expect.poll(() => applied).toEqual(['whole']);
    expect(refused).toEqual([]);
  });

  it('is left alone once the signal is aborted', async () => {
    const { applied, stop, ended, hangUp } = follow();
    const listeners = process.listenerCount('SIGHUP');
    stop.abort();
    await ended;
    expect(process.listenerCount('SIGHUP')).toBe(listeners - 1);
    hangUp();
    expect(applied).toEqual([]);
  });
});
