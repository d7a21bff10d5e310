import { describe, expect, it } from 'vitest';
import { digestOfSeal, lastSealedReasoning, lastSealedReasoningInTurns } from './sealed-reasoning.ts';

const seal = (letter: string) => `gAAAAA${letter.repeat(90)}==`;
const find = (value: unknown, spaces?: number) =>
  lastSealedReasoning(Buffer.from(JSON.stringify(value, undefined, spaces)), 'encrypted_content');

describe('the last sealed reasoning', () => {
  it('is the last one in the text, however deep', () => {
    const input = [
      { type: 'reasoning', encrypted_content: seal('a') },
      { type: 'message', content: [{ inner: { encrypted_content: seal('b') } }] },
      { type: 'function_call', arguments: '{}' },
    ];
    expect(find({ input })).toBe(digestOfSeal(seal('b')));
    expect(find({ input }, 2)).toBe(digestOfSeal(seal('b')));
  });

  it('is of the member that was asked for', () => {
    const json = Buffer.from(JSON.stringify({ signature: seal('s'), encrypted_content: seal('e') }));
    expect(lastSealedReasoning(json, 'signature')).toBe(digestOfSeal(seal('s')));
    expect(lastSealedReasoning(json, 'encrypted_content')).toBe(digestOfSeal(seal('e')));
  });

  it.each([
    ['nothing', {}],
    ['null', { encrypted_content: null }],
    ['an empty text', { encrypted_content: '' }],
    ['a short text', { encrypted_content: 'yes' }],
    ['an object', { encrypted_content: { text: seal('a') } }],
    ['a text with escapes', { encrypted_content: `${seal('a')}\n` }],
    ['a name in a text', { text: `{"encrypted_content":"${seal('a')}"}` }],
    ['a name as a value', { text: 'encrypted_content' }],
  ])('is not there with %s', (_what, value) => {
    expect(find(value)).toBeUndefined();
  });

  it('is found behind others that are none', () => {
    expect(find([{ encrypted_content: seal('a') }, { encrypted_content: null }, { text: 'encrypted_content' }])).toBe(
      digestOfSeal(seal('a')),
    );
  });

  it('is given up in a body that only pretends to have many', () => {
    const pretended = Array.from({ length: 1_000 }, () => ({ encrypted_content: null }));
    expect(find([{ encrypted_content: seal('a') }, ...pretended])).toBeUndefined();
  });

  it('takes a cut text for none', () => {
    expect(
      lastSealedReasoning(Buffer.from(`{"encrypted_content":"${'a'.repeat(64)}`), 'encrypted_content'),
    ).toBeUndefined();
  });

  it.each([0, 1, 10, 18, 19, 20, 100])('is found where its key begins %i bytes before a stretch', async (before) => {
    const stretchBytes = 1024 * 1024;
    const key = '"encrypted_content"';
    const turn = `${key}:"${seal('a')}","text":"`;
    const rest = 'x'.repeat(2 * stretchBytes + before - turn.length - 2);
    const json = Buffer.from(`{"old":"${'x'.repeat(stretchBytes)}",${turn}${rest}"}`);
    expect(json.length - json.indexOf(key)).toBe(2 * stretchBytes + before);
    expect(lastSealedReasoning(json, 'encrypted_content')).toBe(digestOfSeal(seal('a')));
    expect(await lastSealedReasoningInTurns(json, 'encrypted_content')).toBe(digestOfSeal(seal('a')));
  });

  it('is looked for in turns, so that others go on meanwhile', async () => {
    let turns = 0;
    const count = () => {
      turns += 1;
      counting = setImmediate(count);
    };
    let counting = setImmediate(count);
    await lastSealedReasoningInTurns(Buffer.alloc(8 * 1024 * 1024, 0x20), 'signature');
    clearImmediate(counting);
    expect(turns).toBeGreaterThanOrEqual(7);
  });
});
