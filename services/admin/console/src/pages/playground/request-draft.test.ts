import { describe, expect, it } from 'vitest';
import { bodyOf, emptyRequest, isStreamed, usualModel } from './request-draft.ts';

const draft = { ...emptyRequest, model: 'm', prompt: 'Hi' };
const sent = (changes: Partial<typeof draft>) => JSON.parse(bodyOf({ ...draft, ...changes }));

describe('the body of a request', () => {
  it('has the form of its endpoint', () => {
    const fields = { system: 'Be kind.', maxTokens: '50' };
    expect(sent({ endpoint: 'chat', ...fields })).toEqual({
      model: 'm',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'Hi' },
      ],
      max_completion_tokens: 50,
      stream: true,
      stream_options: { include_usage: true },
    });
    expect(sent({ endpoint: 'messages', ...fields })).toEqual({
      ...{ model: 'm', max_tokens: 50, system: 'Be kind.', messages: [{ role: 'user', content: 'Hi' }], stream: true },
    });
    expect(sent({ endpoint: 'responses', ...fields })).toEqual({
      ...{ model: 'm', instructions: 'Be kind.' },
      input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Hi' }] }],
    });
  });

  it('leaves out what is not typed', () => {
    const messages = [{ role: 'user', content: 'Hi' }];
    expect(sent({ stream: false })).toEqual({ model: 'm', messages });
    expect(sent({ endpoint: 'messages', stream: false })).toEqual({ model: 'm', max_tokens: 1_024, messages });
  });

  it('is the JSON that a person wrote, as it is', () => {
    expect(bodyOf({ ...draft, body: '{ "stream": true' })).toBe('{ "stream": true');
    expect(isStreamed('chat', '{ "stream": true')).toBe(true);
    expect(isStreamed('chat', '{}')).toBe(false);
    expect(isStreamed('responses', '{}')).toBe(true);
  });
});

describe('the usual model', () => {
  const models = [
    { id: 'gateway/sterk', owner: 'gateway' },
    { id: 'gpt-5.5', owner: 'provider_a' },
    { id: 'gpt-5.5-mini', owner: 'provider_a' },
    { id: 'claude-sonnet-5', owner: 'provider_b' },
  ];

  it('is one that the endpoint serves', () => {
    expect(usualModel('chat', models)).toBe('gateway/sterk');
    expect(usualModel('messages', models)).toBe('claude-sonnet-5');
    expect(usualModel('responses', models)).toBe('gpt-5.5');
  });

  it('is the first, if none is known to fit, and none without models', () => {
    expect(usualModel('responses', models.slice(0, 1))).toBe('gateway/sterk');
    expect(usualModel('chat', [])).toBe('');
  });
});
