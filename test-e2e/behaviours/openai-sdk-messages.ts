import OpenAI, { BadRequestError } from 'openai';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { chatModels, messagesChatModels, responsesChatModels } from './openai-sdk-models.ts';

const onePixelPng = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';
const pngUrl = `data:image/png;base64,${onePixelPng}`;
const webUrl = 'https://images.example/cat.jpg';

type Params = Omit<OpenAI.ChatCompletionCreateParamsNonStreaming, 'model'>;

/**
 * The messages of a conversation in the official `openai` package, and the request that reaches a
 * provider.
 */
export function openAiSdkMessagesBehaviour(gateway: () => Topology): void {
  describe('a conversation of the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    /** Sends one request; returns the answer's text and the request that reached the provider. */
    const ask = async (model: string, params: Params) => {
      const { choices } = await client.chat.completions.create({ model, ...params });
      return { text: choices[0]?.message.content, json: generationsSince().at(-1)?.json ?? expect.fail('none asked') };
    };

    /** The requests for an answer that reached providers; model lists are read all the time. */
    const generationsSince = (afterId = 0) =>
      gateway()
        .simulator.requests({ afterId })
        .filter(({ path }) => path !== '/v1/models');

    const withRoles: Params = {
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'developer', content: [{ type: 'text', text: 'Be kind.' }] },
        { role: 'user', name: 'Ann', content: 'hello' },
        { role: 'assistant', content: [{ type: 'text', text: 'hi' }] },
        { role: 'assistant', content: null, refusal: 'not that' },
        { role: 'developer', content: 'Be quick.' },
        { role: 'user', content: [{ type: 'text', text: 'bye' }] },
      ],
    };

    it.each(responsesChatModels)('has all of its roles in the items of %s', async (model) => {
      const { text, json } = await ask(model, withRoles);
      expect(text).toBe('echo: bye');
      expect(json).toMatchObject({
        instructions: 'Be brief.\n\nBe kind.',
        input: [
          { role: 'user', content: [{ type: 'input_text', text: 'hello' }] },
          { role: 'assistant', content: [{ type: 'output_text', text: 'hi' }] },
          { role: 'assistant', content: [{ type: 'refusal', refusal: 'not that' }] },
          { role: 'developer', content: [{ type: 'input_text', text: 'Be quick.' }] },
          { role: 'user', content: [{ type: 'input_text', text: 'bye' }] },
        ],
      });
    });

    it.each(messagesChatModels)('has all of its roles in the turns of %s', async (model) => {
      const { text, json } = await ask(model, withRoles);
      expect(text).toBe('echo: bye');
      expect(json).toMatchObject({
        system: 'Be brief.\n\nBe kind.\n\nBe quick.',
        messages: [
          { role: 'user', content: [{ type: 'text', text: 'hello' }] },
          {
            role: 'assistant',
            content: [
              { type: 'text', text: 'hi' },
              { type: 'text', text: 'not that' },
            ],
          },
          { role: 'user', content: [{ type: 'text', text: 'bye' }] },
        ],
      });
    });

    const withImages: Params = {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: pngUrl } },
            { type: 'image_url', image_url: { url: webUrl, detail: 'low' } },
          ],
        },
      ],
    };

    it.each(responsesChatModels)('shows images to %s', async (model) => {
      const { text, json } = await ask(model, withImages);
      expect(text).toBe('echo: What is this?\n[2 images]');
      const images = [
        { type: 'input_image', image_url: pngUrl, detail: 'auto' },
        { type: 'input_image', image_url: webUrl, detail: 'low' },
      ];
      expect(json).toMatchObject({ input: [{ content: [{ type: 'input_text', text: 'What is this?' }, ...images] }] });
    });

    it.each(messagesChatModels)('shows images to %s', async (model) => {
      const { text, json } = await ask(model, withImages);
      expect(text).toBe('echo: What is this?\n[2 images]');
      const images = [
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: onePixelPng } },
        { type: 'image', source: { type: 'url', url: webUrl } },
      ];
      expect(json).toMatchObject({ messages: [{ content: [{ type: 'text', text: 'What is this?' }, ...images] }] });
    });

    it.each(chatModels)('may carry parameters that do nothing on %s', async (model) => {
      const messages = withRoles.messages;
      const plain = await ask(model, { messages });
      const decorated = await ask(model, {
        messages,
        n: 1,
        temperature: 0,
        top_p: 0.5,
        seed: 7,
        logprobs: true,
        top_logprobs: 2,
        logit_bias: { 50256: -100 },
        frequency_penalty: 1,
        presence_penalty: 1,
        user: 'ann',
        metadata: { trace: '1' },
        store: true,
        service_tier: 'flex',
        verbosity: 'low',
        safety_identifier: 'ann',
        prediction: { type: 'content', content: 'bye' },
        modalities: ['text'],
      });
      expect(decorated.text).toBe(plain.text);
      expect(decorated.json).toEqual(plain.json);
    });

    it.each(responsesChatModels)('is not cut on %s, which accepts no maximum and no stop', async (model) => {
      const cut = { messages: [{ role: 'user' as const, content: 'one two three' }], max_tokens: 1, stop: ' two' };
      expect((await ask(model, cut)).text).toBe('echo: one two three');
    });

    it.each(messagesChatModels)('is cut on %s at the maximum, and at stop sequences', async (model) => {
      const messages = [{ role: 'user' as const, content: 'one two three' }];
      expect((await ask(model, { messages, stop: [' two', '\n'] })).text).toBe('echo: one');
      const limits = { max_completion_tokens: 2, max_tokens: 1_000 };
      expect((await ask(model, { messages, ...limits })).text).toBe('echo: on');
    });

    it.each([
      ['n', 'invalid_request', { n: 2 }],
      ['reasoning_effort', 'invalid_request', { reasoning_effort: 'extreme' }],
      ['max_completion_tokens', 'invalid_request', { max_completion_tokens: 0 }],
      ['response_format.type', 'invalid_request', { response_format: { type: 'xml' } }],
      ['tools[0].type', 'invalid_request', { tools: [{ type: 'custom', custom: { name: 'shell' } }] }],
      ['messages[0].role', 'invalid_request', { messages: [{ role: 'function', name: 'f', content: 'x' }] }],
      ['messages[0].content', 'invalid_request', { messages: [{ role: 'user' }] }],
      ['messages', 'invalid_request', { messages: [{ role: 'assistant' }] }],
      ['messages[0].tool_call_id', 'invalid_request', { messages: [{ role: 'tool', content: 'x' }] }],
      ['messages[0].content[0]', 'unsupported_content', userPart({ type: 'input_audio', input_audio: {} })],
      ['messages[0].content[0]', 'unsupported_content', userPart({ type: 'file', file: { file_id: 'file-1' } })],
      [
        'messages[0].content[0].image_url.url',
        'invalid_request',
        userPart({ type: 'image_url', image_url: { url: 'ftp://x' } }),
      ],
    ])('with a wrong %s is BadRequestError %s on every model, and no provider is asked', async (field, code, wrong) => {
      const seenId = gateway().simulator.requests({ limit: 1 })[0]?.id;
      for (const model of chatModels) {
        const body = { model, messages: [{ role: 'user', content: 'hello' }], ...wrong };
        const thrown = await rejectionOf(client.post('/chat/completions', { body }));
        expect(thrown).toBeInstanceOf(BadRequestError);
        expect(thrown).toMatchObject({ status: 400, code, message: expect.stringContaining(`${field} `) });
      }
      expect(generationsSince(seenId)).toEqual([]);
    });

    it.each(chatModels)('with a tool result that answers no call is BadRequestError on %s', async (model) => {
      const messages: OpenAI.ChatCompletionMessageParam[] = [
        { role: 'user', content: 'hello' },
        { role: 'tool', tool_call_id: 'call_nobody', content: 'x' },
      ];
      const thrown = await rejectionOf(client.chat.completions.create({ model, messages }));
      expect(thrown).toBeInstanceOf(OpenAI.BadRequestError);
    });
  });
}

function userPart(part: object) {
  return { messages: [{ role: 'user', content: [part] }] };
}
