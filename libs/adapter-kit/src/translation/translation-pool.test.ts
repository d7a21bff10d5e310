import { afterEach, describe, expect, it } from 'vitest';
import { TranslationPool } from './translation-pool.ts';

const module = new URL('../__fixtures__/fake-translation-worker.ts', import.meta.url);
const context = { affinityKey: '', lease: { model: 'm1', defaultEffort: '', traits: undefined } };
let pool = new TranslationPool({ module, workers: 2, maxBytes: 1_000_000 });

afterEach(async () => {
  await pool[Symbol.asyncDispose]();
  pool = new TranslationPool({ module, workers: 2, maxBytes: 1_000_000 });
});

const translate = (texts: readonly string[], signal = new AbortController().signal) =>
  pool.translate(
    texts.map((text) => Buffer.from(text)),
    context,
    signal,
  );
const textOf = async (translated: ReturnType<typeof translate>) => Buffer.from((await translated).body).toString();

describe('a pool of translation workers', () => {
  it('translates a body that comes in pieces, and leaves the pieces as they are', async () => {
    const pieces = [Buffer.from('one '), Buffer.from('body, é')];
    const translated = await pool.translate(pieces, context, new AbortController().signal);
    expect(Buffer.from(translated.body).toString()).toBe('m1: ONE BODY, É');
    expect(translated).toMatchObject({
      answer: { stream: true, includeUsage: false, wantsJson: true },
      estimatedTokens: 3,
    });
    expect(Buffer.concat(pieces).toString()).toBe('one body, é');
  });

  it('gives each of many its own answer, more than there are workers', async () => {
    const texts = Array.from({ length: 20 }, (_, index) => `body ${index}`);
    const answers = await Promise.all(texts.map((text) => textOf(translate([text]))));
    expect(answers).toEqual(texts.map((text) => `m1: ${text.toUpperCase()}`));
  });

  it('says what is wrong with a request as the translation does', async () => {
    await expect(translate(['refuse'])).rejects.toMatchObject({
      code: 'unsupported_content',
      message: 'messages[0] is not for this model',
    });
  });

  it('reports a fault without its words', async () => {
    const failure = translate(['throw']);
    await expect(failure).rejects.toMatchObject({ code: 'internal_error' });
    await expect(failure).rejects.not.toThrow('client');
  });

  it('fails the request whose worker dies, and goes on with another one', async () => {
    const answers = await Promise.allSettled(['die', 'a', 'die', 'b', 'c'].map((text) => textOf(translate([text]))));
    expect(answers).toMatchObject([
      { reason: { code: 'internal_error' } },
      { value: 'm1: A' },
      { reason: { code: 'internal_error' } },
      { value: 'm1: B' },
      { value: 'm1: C' },
    ]);
  });

  it('refuses what goes beyond its memory, but never a body that is alone', async () => {
    const large = 'x'.repeat(2_000_000);
    const first = textOf(translate([large]));
    await expect(translate(['small'])).rejects.toMatchObject({ code: 'providers_unavailable' });
    expect(await first).toBe(`m1: ${large.toUpperCase()}`);
    expect(await textOf(translate(['small']))).toBe('m1: SMALL');
  });

  it('does nothing for a request that was given up while it waited', async () => {
    pool = new TranslationPool({ module, workers: 1, maxBytes: 1_000_000 });
    const caller = new AbortController();
    const first = textOf(translate(['first']));
    const waiting = translate(['die'], caller.signal);
    caller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'providers_unavailable' });
    expect(await first).toBe('m1: FIRST');
    expect(await textOf(translate(['next']))).toBe('m1: NEXT');
  });

  it('ends what is under way when it is closed', async () => {
    const underWay = Promise.allSettled([translate(['a']), translate(['b']), translate(['c'])]);
    await pool[Symbol.asyncDispose]();
    expect((await underWay).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  });
});
