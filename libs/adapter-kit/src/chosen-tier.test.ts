import { readJsonBody } from '@gateway/json';
import { describe, expect, it } from 'vitest';
import { choosesTier } from './chosen-tier.ts';

describe('the choice of a service tier', () => {
  const chooses = (text: string) =>
    choosesTier(readJsonBody(Buffer.from(text)), { service_tier: [null, 'auto'], speed: [null] });

  it.each([
    ['{}', false],
    ['{"service_tier":"auto"}', false],
    ['{"service_tier":null,"speed":null}', false],
    ['{"service_tier":"flex"}', true],
    ['{"speed":"fast"}', true],
    ['{"service_tier":"flex","service_tier":"auto"}', false],
    ['{"service_tier":"auto","service_tier":"flex"}', true],
    ['{"service\\u005ftier":"flex"}', true],
    ['{"service_tier":{"a":1}}', true],
    [`{"service_tier":"${'a'.repeat(1_000)}"}`, true],
    ['{"metadata":{"speed":"fast"}}', false],
  ])('is known by the top-level members: %s', (text, expected) => {
    expect(chooses(text)).toBe(expected);
  });
});
