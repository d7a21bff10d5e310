import { expect, it } from 'vitest';
import { Permits } from './permits.ts';

const refusal = () => new Error('refused');
const patient = () => new AbortController().signal;

it('lets so many go on at a time for each key, the others in order', async () => {
  const permits = new Permits(2);
  const first = await permits.acquire('a', patient, refusal);
  using _second = await permits.acquire('a', patient, refusal);
  using _other = await permits.acquire('b', patient, refusal);
  const served: number[] = [];
  const third = permits.acquire('a', patient, refusal).then((permit) => [served.push(3), permit] as const);
  const fourth = permits.acquire('a', patient, refusal).then((permit) => [served.push(4), permit] as const);
  await new Promise((resolve) => setImmediate(resolve));
  expect(served).toEqual([]);
  first[Symbol.dispose]();
  const [, permit] = await third;
  expect(served).toEqual([3]);
  permit[Symbol.dispose]();
  await fourth;
});

it('refuses one that loses patience, which costs those behind it nothing', async () => {
  const permits = new Permits(1);
  const first = await permits.acquire('a', patient, refusal);
  const impatient = new AbortController();
  const refused = permits.acquire('a', () => impatient.signal, refusal);
  const behind = permits.acquire('a', patient, refusal);
  impatient.abort();
  await expect(refused).rejects.toThrow('refused');
  await expect(permits.acquire('a', () => AbortSignal.abort(), refusal)).rejects.toThrow('refused');
  first[Symbol.dispose]();
  using _behind = await behind;
});
