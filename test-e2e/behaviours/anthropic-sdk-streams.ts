import type Anthropic from '@anthropic-ai/sdk';
import { APIUserAbortError } from '@anthropic-ai/sdk';
import { jsonSchemaOutputFormat } from '@anthropic-ai/sdk/helpers/json-schema';
import { beforeAll, describe, expect, it } from 'vitest';
import { anthropicClient, rejectionOf } from '../client/sdk-clients.ts';
import { issueToken } from '../client/tokens.ts';
import type { Topology } from '../topologies/topology.ts';

const user = (content: string) => [{ role: 'user' as const, content }];

/**
 * The stream helper and the parsing of the official `@anthropic-ai/sdk` package: its events, and
 * its end.
 */
export function anthropicSdkStreamsBehaviour(gateway: () => Topology): void {
  describe('a stream of the @anthropic-ai/sdk package', () => {
    let client: Anthropic;
    beforeAll(async () => {
      client = anthropicClient(gateway(), (await issueToken(gateway(), { kind: 'personal' })).text);
    });

    describe.each(['gateway/claude', 'claude-opus-4-8'])('from %s', (model) => {
      it('reports thinking, text and tool input, each with everything so far', async () => {
        const stream = client.messages.stream({
          model,
          max_tokens: 500,
          thinking: { type: 'adaptive', display: 'summarized' },
          messages: user('looking #reason 9 #tool weather {"city":"Delft"} #tool now {}'),
          tools: [
            { name: 'weather', input_schema: { type: 'object', properties: { city: { type: 'string' } } } },
            { name: 'now', input_schema: { type: 'object', properties: {} } },
          ],
        });
        const heard: string[] = [];
        stream.on('thinking', (_delta, snapshot) => heard.push(`thinking ${snapshot.length > 0}`));
        stream.on('text', (_delta, snapshot) => heard.push(`text ${'echo: looking'.startsWith(snapshot)}`));
        stream.on('inputJson', (_delta, snapshot) => heard.push(`input ${typeof snapshot}`));
        stream.on('contentBlock', ({ type }) => heard.push(`done ${type}`));
        const message = await stream.finalMessage();
        expect(heard.filter((event, index) => event !== heard[index - 1])).toEqual([
          'thinking true',
          'done thinking',
          'text true',
          'done text',
          'input object',
          'done tool_use',
          'input object',
          'done tool_use',
        ]);
        const inputs = message.content.map((block) => (block.type === 'tool_use' ? block.input : block.type));
        expect(inputs).toEqual(['thinking', 'text', { city: 'Delft' }, {}]);
        expect(message.stop_reason).toBe('tool_use');
      });

      it('ends with the reason and the details of a refusal', async () => {
        const stream = client.messages.stream({ model, max_tokens: 500, messages: user('#refuse') });
        const message = await stream.finalMessage();
        expect(message).toMatchObject({ stop_reason: 'refusal', stop_details: { type: 'refusal' } });
      });

      it('ends with max_tokens where the maximum cuts it', async () => {
        const message = await client.messages
          .stream({ model, max_tokens: 3, messages: user('#long 60') })
          .finalMessage();
        expect(message).toMatchObject({ stop_reason: 'max_tokens', usage: { output_tokens: 3 } });
      });

      it.each([true, false])('has an answer that fits a JSON schema parsed, streamed: %s', async (streamed) => {
        const format = jsonSchemaOutputFormat({
          type: 'object',
          properties: { city: { type: 'string' }, days: { type: 'array', items: { type: 'integer' } } },
          required: ['city', 'days'],
        });
        const params = { model, max_tokens: 500, messages: user('the weather?'), output_config: { format } };
        const message = streamed
          ? await client.messages.stream(params).finalMessage()
          : await client.messages.parse(params);
        expect(message.parsed_output).toEqual({ city: expect.any(String), days: expect.any(Array) });
      });
    });

    it('that is aborted ends with APIUserAbortError, and its provider is cancelled', async () => {
      const whom = { account: 'leaving-a', path: '/v1/messages' } as const;
      gateway().simulator.faults.add({ ...whom, times: 1, fault: { kind: 'delay', betweenEventsMs: 20 } });
      const stream = client.messages.stream({
        model: 'gateway/leaving',
        max_tokens: 5_000,
        messages: user('#long 900'),
      });
      let pieces = 0;
      stream.on('text', () => {
        pieces += 1;
        if (pieces === 4) stream.abort();
      });
      expect(await rejectionOf(stream.finalMessage())).toBeInstanceOf(APIUserAbortError);
      expect(pieces).toBe(4);
      const outcome = () => gateway().simulator.requests({ ...whom, limit: 1 })[0]?.outcome;
      await expect.poll(outcome, { interval: 20 }).toBe('cancelled');
    });
  });
}
