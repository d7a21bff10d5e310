import { roomMs } from '@gateway/testkit/room';
import { beforeAll, describe, expect, it } from 'vitest';
import { ask, isWhole } from '../client/roads.ts';
import { issueToken } from '../client/tokens.ts';
import { usageOf } from '../client/usage.ts';
import { roads } from '../topologies/failing-accounts.ts';
import {
  type ForeignFailure,
  type ForeignProviders,
  failingForeignModel,
  foreignModels,
  foreignText,
  foreignUsage,
} from '../topologies/foreign-providers.ts';
import type { Topology } from '../topologies/topology.ts';
import { foreignAnswersBehaviour } from './foreign-answers.ts';
import { foreignRelaysBehaviour } from './foreign-relays.ts';

/** A gateway whose providers are doubles that others wrote, in place of the simulator. */
export function foreignProvidersBehaviour(providers: ForeignProviders) {
  return (gateway: () => Topology): void => {
    beforeAll(() => providers.startAnew());

    it('the models of foreign providers are listed once their lists are read', async () => {
      const { text: token } = await issueToken(gateway(), { kind: 'personal' });
      await expect
        .poll(() => modelsOf(gateway(), token), { timeout: roomMs(30_000) })
        .toEqual(['gateway/sterk', 'gateway/claude', ...foreignModels('responses'), ...foreignModels('messages')]);
    });

    foreignAnswersBehaviour(gateway);
    foreignRelaysBehaviour(providers)(gateway);

    describe.each(roads)('an error of a foreign provider, on the road %s', (road) => {
      const asked = async (failure: ForeignFailure) => {
        const { text: token } = await issueToken(gateway(), { tokensPerDay: 1_000_000 });
        const model = failingForeignModel(road, failure);
        const answer = await ask(gateway(), token, { road, model, text: 'greet' });
        const { today: booked } = await usageOf(gateway(), token);
        return { answer, booked, attempts: providers.requestsFor(model) };
      };

      it('that rejects the request comes back with its status, and costs nothing', async () => {
        const { answer, booked, attempts } = await asked('rejecting');
        expect(attempts).toBe(1);
        expect(answer.status).toBe(400);
        expect(answer.json).toMatchObject(rejections[road]);
        expect(booked.totalTokens).toBe(0);
      });

      it('that limits every account is a 429 with the time at which to try again', async () => {
        const { answer, attempts } = await asked('limited');
        expect(attempts).toBe(2);
        expect(answer.status).toBe(429);
        const seconds = Number(answer.headers.get('retry-after'));
        expect(seconds).toBeGreaterThan(500);
        expect(seconds).toBeLessThanOrEqual(600);
        const limited = { error: { code: 'pool_exhausted', retryAt: expect.any(String) } };
        expect(answer.json).toMatchObject(
          road === 'messages' ? { type: 'error', error: { type: 'rate_limit_error' } } : limited,
        );
      });

      it('that another account does not have is not seen', async () => {
        const { answer, booked, attempts } = await asked('stumbling');
        expect(attempts).toBe(2);
        expect(isWhole(answer)).toBe(true);
        expect(booked).toMatchObject({
          inputTokens: foreignUsage.input_tokens,
          outputTokens: foreignUsage.output_tokens,
        });
      });

      it.each(['garbling', 'hanging-up'] as const)(
        'that leaves no answer is one of the gateway: %s',
        async (failure) => {
          const { answer, booked, attempts } = await asked(failure);
          // A reused connection that breaks says nothing about the account: it is asked again.
          expect(attempts).toBeGreaterThanOrEqual(2);
          expect(answer.status).toBe(503);
          expect(booked.totalTokens).toBe(0);
        },
      );

      it('that breaks an answer off is an error at its end, and what arrived is counted', async () => {
        const { answer, booked, attempts } = await asked('breaking');
        expect(attempts).toBe(1);
        expect(answer.status).toBe(200);
        expect(answer.text).toContain(foreignText.slice(0, 4));
        expect(isWhole(answer)).toBe(false);
        expect(answer.text.trimEnd().split('\n\n').at(-1)).toMatch(errorEvents[road]);
        expect(booked.outputTokens).toBeGreaterThan(0);
      });
    });
  };
}

const rejections = {
  responses: { error: { type: 'invalid_request_error', code: 'bad_tool', message: 'No such tool.' } },
  messages: { type: 'error', error: { type: 'api_error', code: 'subscription_upstream_error' } },
  'chat-responses': { error: { code: 'upstream_rejected' } },
  'chat-messages': { error: { code: 'upstream_rejected' } },
} as const;

const errorEvents = {
  responses: /^event: response\.failed\n/,
  messages: /^event: error\n/,
  'chat-responses': /^data: \{"error":/,
  'chat-messages': /^data: \{"error":/,
} as const;

async function modelsOf({ baseUrl }: Topology, token: string): Promise<readonly string[]> {
  const response = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${token}` } });
  const { data } = (await response.json()) as { readonly data: readonly { readonly id: string }[] };
  return data.map(({ id }) => id);
}
