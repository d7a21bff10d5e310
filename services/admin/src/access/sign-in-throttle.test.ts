import { ManualTime } from '@gateway/time/simulated';
import { expect, it } from 'vitest';
import { networkOf, SignInThrottle } from './sign-in-throttle.ts';

it('gives each network ten wrong tokens a minute, counted from the first', () => {
  using time = new ManualTime(1_000_000);
  const throttle = new SignInThrottle();
  for (let attempt = 0; attempt < 10; attempt++) {
    expect(throttle.failed(`2001:db8::${attempt}`)).toBe(true);
    time.advanceMs(5_000);
  }
  expect(throttle.failed('2001:db8::1')).toBe(false);
  expect(throttle.failed('192.0.2.2')).toBe(true);
  time.advanceMs(10_001);
  expect(throttle.failed('2001:db8::1')).toBe(true);
});

it('gives each address one wrong token while many fail', () => {
  using _time = new ManualTime(1_000_000);
  const throttle = new SignInThrottle();
  for (let host = 0; host < 100; host++) throttle.failed(`198.51.100.${host}`);
  expect(throttle.failed('198.51.100.1')).toBe(false);
  expect(throttle.failed('192.0.2.1')).toBe(true);
  expect(throttle.failed('192.0.2.1')).toBe(false);
});

it.each([
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['192.0.2.1', '192.0.2.1'],
  ['', ''],
])('takes %j as one of %j', (address, network) => {
  expect(networkOf(address)).toBe(network);
});
