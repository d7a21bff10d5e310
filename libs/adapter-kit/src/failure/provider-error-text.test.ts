import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toAttemptFailure } from './attempt-failure.ts';
import { providerErrorText } from './provider-error-text.ts';

describe('what operators read of a provider’s error', () => {
  it.each([
    [
      { type: 'invalid_request_error', code: 'unsupported_value', param: 'input[0].content[1].image_url' },
      'invalid_request_error, code unsupported_value, param input[0].content[1].image_url',
    ],
    [{ type: 'insufficient_quota', code: 'insufficient_quota' }, 'insufficient_quota'],
    [{ param: 'temperature' }, 'param temperature'],
    [{ param: 'tools[0].parameters.properties.patient_name' }, 'param tools[0].parameters…'],
    [{ param: 'metadata.patient' }, 'param metadata…'],
    [{ code: 'a text with words', param: 'a "quote"' }, ''],
    [{ param: 'metadata[patient]' }, ''],
    [{}, ''],
  ])('are its names: %j', (names, text) => {
    expect(providerErrorText(names)).toBe(text);
  });

  it('is never longer than the contract allows, and never a sentence', () => {
    const texts = fc.oneof(fc.string({ maxLength: 300 }), fc.stringMatching(/^[a-z]{1,90}$/));
    const anyNames = fc.record({ type: texts, code: texts, param: texts }, { requiredKeys: [] });
    fc.assert(
      fc.property(anyNames, (names) => {
        const text = providerErrorText(names);
        expect(text.length).toBeLessThanOrEqual(200);
        expect(text).toMatch(/^(?:[\w.:-]+(?:, )?)?(?:code [\w.:-]+(?:, )?)?(?:param [\w.[\]]+…?)?$/);
      }),
    );
  });

  it('has no names where the account or the provider is the reason, whose status says enough', () => {
    const names = { code: 'some_code' };
    const causeOf = (meaning: Parameters<typeof toAttemptFailure>[0]['meaning']) =>
      toAttemptFailure({ meaning, names, upstreamStatus: 400, retryAtMs: undefined }).cause;
    expect([causeOf('rejected'), causeOf('unknown_model'), causeOf('model_limited')]).toEqual(
      Array.from({ length: 3 }, () => 'code some_code'),
    );
    expect([causeOf('refused_account'), causeOf('server_error')]).toEqual(['', '']);
  });
});
