import { describe, expect, it } from 'vitest';
import { readDirectives } from './directives.ts';

describe('readDirectives', () => {
  it('takes every directive out of the text', () => {
    const text = 'Say #reason 12 this #long 3 #cached 5 #written 7 #json now';
    expect(readDirectives(text)).toMatchObject({
      reasoning: [12],
      words: 3,
      cachedTokens: 5,
      cacheWriteTokens: 7,
      json: true,
    });
    expect(readDirectives(text).rest.split(/\s+/)).toEqual(['Say', 'this', 'now']);
  });

  it('keeps the arguments of a tool exactly as written', () => {
    const { toolCalls, rest } = readDirectives(
      '#tool a {"n": 12345678901234567890, "s":"} #tool b {\\"}"} and #tool b',
    );
    expect(toolCalls).toEqual([
      { name: 'a', argumentsText: '{"n": 12345678901234567890, "s":"} #tool b {\\"}"}' },
      { name: 'b', argumentsText: undefined },
    ]);
    expect(rest).toBe('and');
  });

  it('leaves arguments that are no JSON in the text', () => {
    expect(readDirectives('#tool a {not json}')).toMatchObject({
      toolCalls: [{ name: 'a', argumentsText: undefined }],
      rest: '{not json}',
    });
  });

  it('reads why an answer is incomplete', () => {
    expect(readDirectives('#incomplete').incomplete).toBe('length');
    expect(readDirectives('#incomplete content_filter').incomplete).toBe('content_filter');
  });

  it('takes reasoning as often as it is asked for, in that order', () => {
    expect(readDirectives('#reason 3 Hi #reason 4\n#reason 5')).toMatchObject({
      reasoning: [3, 4, 5],
      rest: 'Hi',
    });
  });

  it('leaves everything else as it is', () => {
    const text = '#include <json> #longer x#refuse #reason';
    expect(readDirectives(text)).toMatchObject({
      rest: text,
      refuse: false,
      words: undefined,
      toolCalls: [],
      reasoning: [],
    });
  });
});
