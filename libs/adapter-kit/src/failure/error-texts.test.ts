import { describe, expect, it } from 'vitest';
import { toAttemptFailure } from './attempt-failure.ts';
import type { ErrorMeaning } from './error-meanings.ts';
import { capabilityText, errorTexts, rejectedCapabilities } from './error-texts.ts';

const meanings = Object.keys(errorTexts) as readonly ErrorMeaning[];

describe('what clients read of a provider’s error', () => {
  it.each(meanings)('is one of our sentences, without a number: %s', (meaning) => {
    const { error } = toAttemptFailure({ meaning, upstreamStatus: 400, retryAtMs: undefined });
    expect(error.message).toBe(errorTexts[meaning]);
    expect(error.message).toMatch(/^[A-Z][a-zA-Z_' .:]+\.$/);
  });

  it('makes agents compact a conversation that is too long', () => {
    expect(errorTexts.context_too_long.toLowerCase()).toContain('prompt is too long');
    const others = meanings.filter((meaning) => /prompt is too long/i.test(errorTexts[meaning]));
    expect(others).toEqual(['context_too_long']);
    // Compacting does not help when only the requested output is too long.
    expect(errorTexts.output_too_long).not.toMatch(/too long|context|prompt/i);
  });

  it.each(rejectedCapabilities)('has the words by which Claude Code leaves out what was rejected: %s', (capability) => {
    const facts = { meaning: 'rejected', capability, upstreamStatus: 400, retryAtMs: undefined } as const;
    const { message } = toAttemptFailure(facts).error;
    expect(message).toBe(capabilityText(capability));
    // Uses the client's rule: no character of a longer name may follow.
    expect(message).toMatch(new RegExp(`capability_rejected: ${capability}(?![A-Za-z0-9_:.-])`));
  });
});
