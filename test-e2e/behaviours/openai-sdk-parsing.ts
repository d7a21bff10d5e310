import type OpenAI from 'openai';
import { ContentFilterFinishReasonError, LengthFinishReasonError, OpenAIError } from 'openai/error';
import { beforeAll, describe, expect, it } from 'vitest';
import { openAiClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';
import { chatModels, messagesChatModels, responsesChatModels } from './openai-sdk-models.ts';

const forecastFormat: OpenAI.ResponseFormatJSONSchema = {
  type: 'json_schema',
  json_schema: {
    name: 'forecast',
    strict: true,
    schema: {
      type: 'object',
      properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } },
      required: ['city', 'days'],
      additionalProperties: false,
    },
  },
};
const aForecast = { city: expect.any(String), days: expect.any(Array) };

const user = (content: string): OpenAI.ChatCompletionMessageParam[] => [{ role: 'user', content }];

/**
 * `parse` and the parsing stream of the official `openai` package, also of answers that can't be
 * parsed.
 */
export function openAiSdkParsingBehaviour(gateway: () => Topology): void {
  describe('parsing with the openai package', () => {
    let client: OpenAI;
    beforeAll(async () => {
      client = openAiClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    const ask = (model: string, content: string, streamed: boolean) => {
      const params = { model, messages: user(content), response_format: forecastFormat };
      return streamed
        ? client.chat.completions.stream(params).finalChatCompletion()
        : client.chat.completions.parse(params);
    };

    describe.each(chatModels)('an answer of %s', (model) => {
      it('gives its value when a stream is done', async () => {
        const stream = client.chat.completions.stream({
          model,
          messages: user('the weather? #reason 5'),
          response_format: forecastFormat,
        });
        const parsed: unknown[] = [];
        stream.on('content.done', (done) => parsed.push(done.parsed));
        const { choices } = await stream.finalChatCompletion();
        expect(parsed).toEqual([aForecast]);
        expect(choices[0]?.message.parsed).toEqual(aForecast);
      });

      it('gives its value despite constraints that not every provider knows', async () => {
        const { choices } = await client.chat.completions.parse({
          model,
          messages: user('the weather?'),
          response_format: {
            type: 'json_schema',
            json_schema: {
              name: 'limits',
              schema: {
                type: 'object',
                properties: {
                  degrees: { type: 'integer', minimum: -90, maximum: 60 },
                  code: { type: 'string', pattern: '^[A-Z]{2}$', description: 'Country' },
                  kind: { oneOf: [{ const: 'rain' }, { const: 'sun' }] },
                },
                required: ['degrees', 'code', 'kind'],
              },
            },
          },
        });
        expect(choices[0]?.message.parsed).toMatchObject({ degrees: expect.any(Number), kind: 'rain' });
      });

      it.each([true, false])('that was cut is LengthFinishReasonError, streamed: %s', async (streamed) => {
        const thrown = await rejectionOf(ask(model, '#incomplete', streamed));
        expect(thrown).toBeInstanceOf(LengthFinishReasonError);
      });

      it.each([true, false])('that was filtered is ContentFilterFinishReasonError, streamed: %s', async (streamed) => {
        const thrown = await rejectionOf(ask(model, '#incomplete content_filter', streamed));
        expect(thrown).toBeInstanceOf(ContentFilterFinishReasonError);
      });

      it('is a JSON object when nothing but that is asked for', async () => {
        const { choices } = await client.chat.completions.create({
          model,
          messages: [{ role: 'system', content: 'Answer in one word.' }, ...user('hello #json')],
          response_format: { type: 'json_object' },
        });
        expect(JSON.parse(choices[0]?.message.content ?? '')).toEqual({ echo: 'hello' });
      });
    });

    describe.each([true, false])('a refusal, streamed: %s', (streamed) => {
      it.each(responsesChatModels)('of %s is beside the value, which is null', async (model) => {
        const { choices } = await ask(model, '#refuse', streamed);
        expect(choices[0]?.finish_reason).toBe('stop');
        expect(choices[0]?.message).toMatchObject({ refusal: "I can't help with that.", parsed: null });
      });

      // The answer is text, which the package parses as JSON as soon as it comes.
      it.each(messagesChatModels)('of %s is an error of the package', async (model) => {
        const thrown = await rejectionOf(ask(model, '#refuse', streamed));
        expect(thrown).toBeInstanceOf(streamed ? OpenAIError : ContentFilterFinishReasonError);
      });
    });
  });
}
