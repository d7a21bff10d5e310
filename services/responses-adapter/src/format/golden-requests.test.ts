import { startSimulator } from '@gateway/simulator';
import { describeGoldenRequests, isRefusal, type RequestCase } from '@gateway/testkit/adapters';
import { describe, expect, it } from 'vitest';
import { requestCases } from './__fixtures__/golden-cases.ts';
import { translateRequest } from './__fixtures__/translate-request.ts';

const defaultModel = 'gpt-5.5';

describe('to a Responses provider', () => {
  describeGoldenRequests({
    cases: requestCases,
    translate,
    fixed: ({ model = defaultModel }) => ({ model, stream: true, store: false }),
  });

  it('is known in many shapes', () => {
    expect(new Set(requestCases.map(({ name }) => name)).size).toBe(requestCases.length);
    expect(requestCases.length).toBeGreaterThanOrEqual(150);
  });

  it('is taken by the provider, whatever it was made from', async () => {
    const sent = requestCases.filter(({ becomes }) => !isRefusal(becomes));
    const models = sent.map(({ model = defaultModel }) => model);
    await using simulator = await startSimulator({ responsesBackend: 'subscription', responsesModels: models });
    for (const request of sent) {
      const response = await fetch(`${simulator.url}/v1/responses`, {
        method: 'POST',
        headers: { authorization: 'Bearer golden', 'content-type': 'application/json' },
        body: translate(request),
      });
      const answer = await response.text();
      expect(response.status, `${request.name}: ${answer}`).toBe(200);
    }
  });
});

function translate({ request, model = defaultModel, ...more }: RequestCase): string {
  return translateRequest({ request: { model: 'gateway/sterk', ...request }, model, ...more });
}
