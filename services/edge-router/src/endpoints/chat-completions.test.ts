import { parseChatRequest } from '@gateway/chat';
import { type JsonBody, readJsonBody } from '@gateway/json';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chatFault, chatTarget } from './chat-completions.ts';

const messages = [{ role: 'user', content: 'hi' }];
const bodyOf = (value: unknown) => readJsonBody(Buffer.from(JSON.stringify(value)));
const faultIn = (body: JsonBody, read: (body: JsonBody) => unknown) => {
  try {
    read(body);
    return undefined;
  } catch (thrown) {
    return thrown;
  }
};
const parsed = (body: JsonBody) => parseChatRequest(body.bytes);

const anyValue = fc.oneof(fc.string(), fc.integer(), fc.constant(null), fc.constant([]), fc.constant({}));
const anyBody = fc
  .record(
    {
      model: fc.oneof(
        fc.string({ unit: 'binary' }).filter((text) => text.isWellFormed()),
        anyValue,
      ),
      messages: fc.oneof(fc.constant(messages), anyValue),
      prompt_cache_key: anyValue,
      temperature: fc.oneof(fc.constant(1), anyValue),
    },
    { requiredKeys: [] },
  )
  .map(bodyOf);

describe('what the edge knows of a chat request', () => {
  it('is what the whole of it says, and the same fault where it says nothing', () => {
    fc.assert(
      fc.property(anyBody, (body) => {
        const fault = faultIn(body, parsed);
        expect(chatFault(body)).toEqual(fault);
        if (fault !== undefined) return;
        const { model, promptCacheKey } = parsed(body);
        const target = chatTarget(body);
        expect({ model: target.model, promptCacheKey: target.promptCacheKey || undefined }).toEqual({
          model,
          promptCacheKey,
        });
      }),
      { numRuns: 500 },
    );
  });

  it.each([
    ['no model', { messages }],
    ['an empty model', { model: '', messages }],
    ['a number for a model', { model: 1, messages }],
    ['no model, behind another fault', { temperature: 'hot', messages }],
  ])('is refused as the whole would be, with %s', (_what, value) => {
    const body = bodyOf(value);
    const fault = faultIn(body, parsed);
    expect(fault).toBeDefined();
    expect(faultIn(body, chatTarget)).toEqual(fault);
  });

  it('is the last of a member that is given twice', () => {
    const body = readJsonBody(Buffer.from('{"model":"a","messages":[{"role":"user","content":"x"}],"model":"b"}'));
    expect(chatTarget(body).model).toBe('b');
  });

  it('is a model of any length', () => {
    const model = 'm'.repeat(10_000);
    expect(chatTarget(bodyOf({ model, messages })).model).toBe(model);
  });

  it('does not look into very large ones, which adapters check', () => {
    expect(chatFault(bodyOf({ model: 'm', messages: 'x'.repeat(2 * 1024 * 1024) }))).toBeUndefined();
  });
});
