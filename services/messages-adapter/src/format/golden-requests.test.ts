import { create } from '@bufbuild/protobuf';
import { BufferList } from '@gateway/json';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { type Simulator, startSimulator } from '@gateway/simulator';
import { describeGoldenRequests, isRefusal, type RequestCase } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { requestCases } from './__fixtures__/golden-cases.ts';
import { chatTranslator } from './chat-translator.ts';

const defaultModel = 'claude-opus-4-8';

describe('to a Messages provider', () => {
  describeGoldenRequests({
    cases: requestCases,
    translate,
    fixed: ({ model = defaultModel }) => ({ model, stream: true, max_tokens: 32_000 }),
  });

  it('is known in many shapes', () => {
    expect(new Set(requestCases.map(({ name }) => name)).size).toBe(requestCases.length);
    expect(new Set(requestCases.map(({ name: _, becomes: __, ...asked }) => JSON.stringify(asked))).size).toBe(
      requestCases.length,
    );
    expect(requestCases.length).toBeGreaterThanOrEqual(500);
  });

  it('is taken by the provider, whatever it was made from', async () => {
    const sent = requestCases.filter(({ becomes }) => !isRefusal(becomes));
    await using simulator = await startSimulator({ messagesModels: sent.map(modelOf) });
    for (const request of sent) {
      const { status, answer } = await send(translate(request), simulator);
      expect(status, `${request.name}: ${answer}`).toBe(200);
    }
  });

  it('keeps the digits of the numbers in arguments', () => {
    const written = '{"id":12345678901234567890,"price":1.10,"huge":1e400,"zero":-0,"list":[9007199254740993]}';
    const messages = [
      { role: 'user', content: 'Hi, \ud83d' },
      { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'pay', arguments: written } }] },
      { role: 'tool', tool_call_id: 'a', content: 'paid' },
    ];
    expect(translate({ request: { messages } })).toContain(`"input":${written}`);
  });

  it('goes with a begun answer to models that do not continue one, which is theirs to refuse', async () => {
    await using simulator = await startSimulator({ messagesModels: [defaultModel] });
    const messages = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: 'Hello, ' },
    ];
    const { status, answer } = await send(translate({ request: { messages } }), simulator);
    expect(status).toBe(400);
    expect(answer).toContain('does not support assistant message prefill');
  });
});

function translate(asked: Omit<RequestCase, 'name' | 'becomes'>): string {
  const { request, defaultEffort = '', affinityKey = '' } = asked;
  const body = new BufferList([Buffer.from(JSON.stringify({ model: 'gateway/sterk', ...request }))]);
  const lease = create(LeaseSchema, { model: modelOf(asked), defaultEffort });
  const more = {
    requestId: 'request-1',
    members: [],
    forwardHeaders: {},
    affinityKey,
    nowMs: 0,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  };
  return String(chatTranslator.prepare({ body, lease, ...more }).body);
}

function modelOf({ model = defaultModel }: { readonly model?: string | undefined }): string {
  return model;
}

async function send(body: string, { url }: Simulator): Promise<{ readonly status: number; readonly answer: string }> {
  const response = await fetch(`${url}/v1/messages`, {
    method: 'POST',
    headers: { 'x-api-key': 'golden', 'anthropic-version': '2023-06-01', 'content-type': 'application/json' },
    body,
  });
  return { status: response.status, answer: await response.text() };
}
