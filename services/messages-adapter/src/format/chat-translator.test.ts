import { create } from '@bufbuild/protobuf';
import type { PreparedCall } from '@gateway/adapter-kit';
import type { ResponseFormat } from '@gateway/chat';
import { BufferList } from '@gateway/json';
import { LeaseSchema } from '@gateway/proto/pool/v1/account_pb.js';
import { textOfBody } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { readFixture } from './__fixtures__/replay.ts';
import { chatTranslator, convertResponseFormat } from './chat-translator.ts';
import { modelFamilyOf } from './model-families.ts';

describe('chatTranslator', () => {
  it('always streams from the provider, and sends neither sampling nor what the format lacks', () => {
    const call = prepare({ stream: false, temperature: 0.2, top_p: 0.9, seed: 1, stop: ['\n', 'END'] });
    expect(call.path).toBe('/messages');
    expect(bodyOf(call)).toEqual({
      model: 'claude-sonnet-4-6',
      max_tokens: 32_000,
      stream: true,
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
      stop_sequences: ['END'],
    });
  });

  it('prefers the effort of the request to that of the class', () => {
    expect(bodyOf(prepare({}, 'high'))).toMatchObject({
      output_config: { effort: 'high' },
      thinking: { type: 'adaptive' },
    });
    expect(bodyOf(prepare({ reasoning_effort: 'low' }, 'high'))).toMatchObject({ output_config: { effort: 'low' } });
    expect(bodyOf(prepare({}, ''))).not.toHaveProperty('output_config');
  });

  it('puts instructions of its own after those of the client', () => {
    const messages = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Hi' },
    ];
    const body = bodyOf(prepare({ messages, response_format: { type: 'json_object' } }));
    expect(body.system).toMatch(/^Be brief\.\n\nAnswer with one JSON object/);
  });

  it('sends no half characters', () => {
    const call = prepare({ messages: [{ role: 'user', content: 'cut \ud83d' }] });
    expect(call.body).not.toMatch(/\\ud83d/);
    expect(bodyOf(call).messages).toEqual([{ role: 'user', content: [{ type: 'text', text: 'cut \ufffd' }] }]);
  });

  it('refuses what cannot be sent before it is sent', () => {
    const image = { type: 'image_url', image_url: { url: 'data:image/svg+xml;base64,PHN2Zy8+' } };
    expect(() => prepare({ messages: [{ role: 'user', content: [image] }] })).toThrow(
      expect.objectContaining({ code: 'unsupported_content' }),
    );
  });

  it('answers in the name of the request and of the model', () => {
    const { answer } = prepare({ stream: false });
    answer.push(readFixture('text'));
    answer.end();
    expect(answer.head.status).toBe(200);
    expect(JSON.parse(Buffer.from(answer.take()).toString())).toMatchObject({
      id: 'chatcmpl-request-1',
      created: 1_700_000_000,
      model: 'claude-sonnet-4-6',
    });
  });
});

const current = modelFamilyOf('claude-sonnet-5');
const schema = { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] };
const person: ResponseFormat = { type: 'json_schema', name: 'person', description: undefined, schema, strict: true };

describe('convertResponseFormat', () => {
  it('asks for nothing special when the answer is text', () => {
    expect(convertResponseFormat({ type: 'text' }, current, false)).toEqual({});
  });

  it('holds a current model to a schema', () => {
    expect(convertResponseFormat(person, current, false)).toEqual({
      format: { type: 'json_schema', schema: { ...schema, additionalProperties: false } },
    });
  });

  it.each([
    ['an older model', convertResponseFormat(person, modelFamilyOf('claude-opus-4-1'), false)],
    ['an answer that has begun', convertResponseFormat(person, current, true)],
    [
      'a schema that can not be said',
      convertResponseFormat(
        { ...person, schema: { ...schema, additionalProperties: { type: 'string' } } },
        current,
        false,
      ),
    ],
  ])('gives the schema in words to %s', (_, settings) => {
    expect(settings.format).toBeUndefined();
    expect(settings.instruction).toContain('JSON Schema of person');
    expect(settings.instruction).toContain(JSON.stringify(schema).slice(0, -1));
  });

  it.each<ResponseFormat>([{ type: 'json_object' }, { ...person, schema: undefined }])(
    'asks for a JSON object in words',
    (format) => {
      expect(convertResponseFormat(format, current, false)).toEqual({
        instruction: expect.stringContaining('JSON object'),
      });
    },
  );
});

function prepare(members: Record<string, unknown>, defaultEffort = ''): PreparedCall {
  const body = { model: 'gateway/claude', messages: [{ role: 'user', content: 'Hi' }], ...members };
  return chatTranslator.prepare({
    requestId: 'request-1',
    lease: create(LeaseSchema, { model: 'claude-sonnet-4-6', defaultEffort }),
    body: new BufferList([Buffer.from(JSON.stringify(body))]),
    forwardHeaders: {},
    members: [],
    affinityKey: '',
    nowMs: 1_700_000_000_999,
    maxAnswerBytes: 1_000_000,
    maxEventBytes: 1_000_000,
  });
}

function bodyOf(call: PreparedCall): Record<string, unknown> {
  return JSON.parse(textOfBody(call));
}
