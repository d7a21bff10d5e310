import { ManualClock } from '@gateway/time';
import { expect, it } from 'vitest';
import { networkOf, SignInThrottle } from './sign-in-throttle.ts';

it('gives each address ten tries a minute, counted from the first', () => {
  const clock = new ManualClock(1_000_000);
  const throttle = new SignInThrottle(clock);
  for (let attempt = 0; attempt < 10; attempt++) {
    expect(throttle.allows('192.0.2.1', 'a')).toBe(true);
    throttle.failed('192.0.2.1');
    clock.advanceMs(5_000);
  }
  expect(throttle.allows('192.0.2.1', 'a')).toBe(false);
  expect(throttle.allows('192.0.2.2', 'a')).toBe(true);
  clock.advanceMs(10_001);
  expect(throttle.allows('192.0.2.1', 'a')).toBe(true);
});

it('gives each address one try while many fail', () => {
  const throttle = new SignInThrottle(new ManualClock(1_000_000));
  for (let host = 0; host < 100; host++) throttle.failed(`198.51.100.${host}`);
  expect(throttle.allows('198.51.100.1', 'a')).toBe(false);
  expect(throttle.allows('192.0.2.1', 'a')).toBe(true);
});

it('never holds up a token that was right before', () => {
  const throttle = new SignInThrottle(new ManualClock(1_000_000));
  throttle.succeeded('right');
  for (let attempt = 0; attempt < 1_000; attempt++) throttle.failed('192.0.2.1');
  expect(throttle.allows('192.0.2.1', 'right')).toBe(true);
  expect(throttle.allows('192.0.2.1', 'guess')).toBe(false);
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
