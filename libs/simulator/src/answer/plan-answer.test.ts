import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Conversation } from './conversation.ts';
import { planAnswer } from './plan-answer.ts';

describe('planAnswer', () => {
  it('echoes the user', () => {
    expect(plan({ userText: 'Hallo één' }).parts).toEqual([{ kind: 'text', text: 'echo: Hallo één', tokens: 5 }]);
  });

  it('says how many images came', () => {
    expect(textOf(plan({ userText: 'See', imageCount: 2 }))).toBe('echo: See\n[2 images]');
  });

  it('calls the tools that directives name, with the arguments as given', () => {
    const { parts, ending } = plan({ userText: 'Hi #tool weather {"city":1.0} #tool time', tools });
    expect(parts).toMatchObject([
      { kind: 'text', text: 'echo: Hi' },
      { kind: 'tool_call', name: 'weather', argumentsText: '{"city":1.0}' },
      { kind: 'tool_call', name: 'time', argumentsText: '{}' },
    ]);
    expect(ending.kind).toBe('tool_calls');
  });

  it('calls one tool when parallel calls are off, and none when tools are', () => {
    const userText = '#tool weather {} #tool time {}';
    expect(plan({ userText, tools, parallelToolCalls: false }).parts).toHaveLength(1);
    expect(plan({ userText, tools, toolChoice: { kind: 'none' } }).ending.kind).toBe('finished');
  });

  it('calls a tool when the choice forces one, with arguments that fit its schema', () => {
    expect(plan({ tools, toolChoice: { kind: 'any' } }).parts.at(-1)).toMatchObject({
      name: 'weather',
      argumentsText: '{"city":"city"}',
    });
    expect(plan({ tools, toolChoice: { kind: 'named', name: 'time' } }).parts.at(-1)).toMatchObject({ name: 'time' });
  });

  it('says so when a tool is not declared', () => {
    expect(textOf(plan({ userText: '#tool weather {}' }))).toBe('no tool named weather is declared');
  });

  it('repeats what the tools returned', () => {
    const toolResults = [{ name: 'weather', text: '18 degrees' }];
    expect(textOf(plan({ toolResults, userText: '' }))).toBe('weather returned: 18 degrees');
  });

  it('answers in JSON when asked to', () => {
    const schema = { type: 'object', properties: { ok: { type: 'boolean' } } };
    expect(textOf(plan({ answerFormat: { kind: 'json_schema', schema } }))).toBe('{"ok":true}');
    expect(textOf(plan({ userText: '#json Hi' }))).toBe('{"echo":"Hi"}');
  });

  it('says so many words', () => {
    expect(textOf(plan({ userText: '#long 25' })).split(' ')).toHaveLength(25);
  });

  it('says so many bytes, whatever the limit on tokens', () => {
    const { ending, parts } = plan({ userText: '#bytes 1000', maxOutputTokens: 3 });
    expect([ending.kind, parts[0]?.tokens]).toEqual(['finished', 250]);
    expect(textOf(plan({ userText: '#bytes 1000' }))).toHaveLength(1_000);
  });

  it('refuses, and ends early, when a directive says so', () => {
    expect(plan({ userText: '#refuse' })).toMatchObject({ parts: [{ kind: 'refusal' }], ending: { kind: 'refused' } });
    expect(plan({ userText: '#incomplete' }).ending.kind).toBe('length');
  });

  it('reasons in as many steps as directives say', () => {
    const { parts } = plan({ userText: '#reason 0 #reason 2 #reason 3 Hi' });
    expect(parts.slice(0, -1)).toEqual([
      { kind: 'reasoning', text: expect.stringMatching(/./), tokens: 2 },
      { kind: 'reasoning', text: expect.stringMatching(/./), tokens: 3 },
    ]);
    expect(plan({ userText: '#reason 3 #reason 2 Hi', reasoning: 'off' }).parts).toHaveLength(1);
  });

  it('stops before a stop sequence', () => {
    const stopped = plan({ userText: 'one two three', stopSequences: ['three', 'two'] });
    expect(textOf(stopped)).toBe('echo: one ');
    expect(stopped.ending).toEqual({ kind: 'stop_sequence', sequence: 'two' });
  });

  it('spends the whole limit on reasoning when that is all it allows', () => {
    const cut = plan({ userText: '#reason 50 Hi', maxOutputTokens: 20 });
    expect(cut).toMatchObject({ parts: [{ kind: 'reasoning', tokens: 20 }], ending: { kind: 'length' } });
    expect(cut.parts).toHaveLength(1);
  });

  it('never exceeds the limit on output tokens, and says when it cut', () => {
    const directives = fc.constantFrom('#long 9', '#reason 7 Hi', '#tool weather {"city":"日本"}', '🚀 and more');
    fc.assert(
      fc.property(directives, fc.nat(40), (userText, maxOutputTokens) => {
        const whole = plan({ userText, tools });
        const cut = plan({ userText, tools, maxOutputTokens });
        expect(tokensOf(cut)).toBeLessThanOrEqual(maxOutputTokens);
        expect(cut.ending.kind).toBe(tokensOf(whole) > maxOutputTokens ? 'length' : whole.ending.kind);
      }),
    );
  });
});

const tools = [
  { name: 'weather', schema: { type: 'object', properties: { city: { type: 'string' } } } },
  { name: 'time', schema: {} },
];

function plan(changes: Partial<Conversation>) {
  return planAnswer({ ...plain, ...changes });
}

const plain: Conversation = {
  model: 'm',
  stream: true,
  userText: 'Hi',
  imageCount: 0,
  toolResults: [],
  tools: [],
  toolChoice: { kind: 'auto' },
  parallelToolCalls: true,
  answerFormat: { kind: 'text' },
  maxOutputTokens: undefined,
  stopSequences: [],
  reasoning: 'shown',
  inputTokens: 1,
};

function textOf({ parts }: ReturnType<typeof plan>): string {
  return parts.map((part) => (part.kind === 'text' ? part.text : '')).join('');
}

function tokensOf({ parts }: ReturnType<typeof plan>): number {
  return parts.reduce((sum, part) => sum + part.tokens, 0);
}
