import { GatewayError } from '@gateway/errors';
import { asArray, asObject, type JsonObject } from '@gateway/json';
import { startSimulator } from '@gateway/simulator';
import { arbitraryChatRequest, type ChatRequestBody } from '@gateway/testkit/adapters';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientSayings, providerSayings, type Saying } from './__fixtures__/sayings.ts';
import { translateRequest } from './__fixtures__/translate-request.ts';

const isLong = process.env.FAULTS === 'long';

const models = ['gpt-4.1', 'gpt-5', 'gpt-5.1', 'gpt-5.5', 'gpt-5.6-sol', 'gpt-6', 'our-own'];
const lease = fc.record({
  model: fc.constantFrom(...models),
  defaultEffort: fc.constantFrom('', 'low', 'ultra', 'unheard-of'),
  affinityKey: fc.string({ maxLength: 100 }),
});

describe('any chat request, to a Responses provider,', () => {
  it('says the same, in the same order, to the byte', () => {
    check(({ request, sent }) => {
      const said = clientSayings(request);
      const wantsJson = request.response_format?.type === 'json_object';
      const passedOn = wantsJson ? withoutHint(providerSayings(sent), said) : providerSayings(sent);
      expect(withoutIds(passedOn)).toEqual(withoutIds(said));
    });
  });

  it('keeps calls and results together under ids that the provider takes', () => {
    check(({ request, sent }) => {
      const before = idsOf(clientSayings(request));
      const after = idsOf(providerSayings(sent));
      expect(after.map((id) => after.indexOf(id))).toEqual(before.map((id) => before.indexOf(id)));
      for (const [at, id] of after.entries()) {
        expect(id.length).toBeLessThanOrEqual(64);
        if ((before[at]?.length ?? 0) <= 64) expect(id).toBe(before[at]);
      }
    });
  });

  it('answers every call and only calls', () => {
    check(({ sent }) => {
      const idsBy = (by: Saying['by']) => new Set(idsOf(providerSayings(sent).filter((saying) => saying.by === by)));
      expect(idsBy('output')).toEqual(idsBy('call'));
    });
  });

  it('has no members but those that subscriptions take', () => {
    const parameters = [
      ...['model', 'stream', 'store', 'instructions', 'input', 'tools', 'tool_choice', 'parallel_tool_calls'],
      ...['text', 'reasoning', 'prompt_cache_key'],
    ];
    check(({ sent, model }) => {
      expect(parameters).toEqual(expect.arrayContaining(Object.keys(sent)));
      expect(sent).toMatchObject({ model, stream: true, store: false });
      expect(String(sent.prompt_cache_key ?? '').length).toBeLessThanOrEqual(64);
      expect(asArray(sent.input).length).toBeGreaterThan(0);
    });
  });

  it('has no system role and no item ids', () => {
    check(({ sent }) => {
      for (const item of objects(sent.input)) {
        expect(item.role).not.toBe('system');
        expect(item).not.toHaveProperty('id');
        expect(item.type).not.toBe('item_reference');
      }
    });
  });

  it('has the tools as they were, each said to be strict or not, and a choice only among them', () => {
    check(({ request: { tools = [], tool_choice: choice, parallel_tool_calls: parallel }, sent }) => {
      expect(sent.tools).toEqual(tools.length === 0 ? undefined : tools.map(wellFormedTool));
      const name = typeof choice === 'object' ? choice.function.name : undefined;
      const chosen = name === undefined ? choice : { type: 'function', name };
      expect([sent.tool_choice, sent.parallel_tool_calls]).toEqual(
        tools.length === 0 ? [undefined, undefined] : [chosen, parallel],
      );
    });
  });

  it('mentions JSON when it asks for a JSON object', () => {
    check(({ request, sent }) => {
      if (request.response_format?.type !== 'json_object') return;
      expect(sent.text).toEqual({ format: { type: 'json_object' } });
      expect(JSON.stringify(sent.input)).toMatch(/json/i);
    });
  });

  it('comes out the same each time', () => {
    check((translated) => expect(translateRequest(translated)).toBe(translated.text));
  });

  it('is taken by the provider', async () => {
    await using simulator = await startSimulator({ responsesBackend: 'subscription', responsesModels: models });
    const sample = fc.sample(fc.tuple(arbitraryChatRequest(), lease), { numRuns: 150, seed: 1 });
    for (const [request, { model, ...more }] of sample) {
      const body = translateRequest({ request, model, ...more });
      const headers = { authorization: 'Bearer sample', 'content-type': 'application/json' };
      const response = await fetch(`${simulator.url}/v1/responses`, { method: 'POST', headers, body });
      const answer = await response.text();
      expect(response.status, `${body}\n${answer}`).toBe(200);
    }
  });

  it('is refused with a reason when something in it is wrong, and never fails otherwise', () => {
    let refused = 0;
    fc.assert(
      fc.property(damaged(arbitraryChatRequest()), lease, (request, more) => {
        try {
          translateRequest({ request, ...more });
        } catch (error) {
          refused += 1;
          expect(error).toBeInstanceOf(GatewayError);
          expect(error).toHaveProperty('code', expect.stringMatching(/^(invalid_request|unsupported_content)$/));
        }
      }),
      { numRuns: isLong ? 1_000 : 400 },
    );
    expect(refused).toBeGreaterThan(100);
  });
});

interface Translated {
  readonly request: ChatRequestBody;
  readonly model: string;
  readonly defaultEffort: string;
  readonly affinityKey: string;
  readonly text: string;
  readonly sent: JsonObject;
}

function check(holds: (translated: Translated) => void): void {
  fc.assert(
    fc.property(arbitraryChatRequest(), lease, (request, more) => {
      const text = translateRequest({ request, ...more });
      holds({ request, ...more, text, sent: asObject(JSON.parse(text)) ?? {} });
    }),
    { numRuns: isLong ? 200 : 100 },
  );
}

/**
 * What the provider's request says, except for the one hint that the client did not write: that
 * JSON is wanted.
 */
function withoutHint(sent: readonly Saying[], said: readonly Saying[]): readonly Saying[] {
  const hint = sent.findIndex(({ by, what }) => by === 'developer' && /\bJSON\b/.test(what));
  return sent.length === said.length + 1 ? sent.filter((_, index) => index !== hint) : sent;
}

function withoutIds(sayings: readonly Saying[]): readonly Saying[] {
  return sayings.map(({ by, what }) => ({ by, what }));
}

function idsOf(sayings: readonly Saying[]): readonly string[] {
  return sayings.flatMap(({ id }) => id ?? []);
}

function wellFormedTool({ function: definition }: NonNullable<ChatRequestBody['tools']>[number]): object {
  const { strict = false, description, parameters } = definition;
  const room = strict ? { required: [], additionalProperties: false } : {};
  return {
    type: 'function',
    name: definition.name,
    ...(description === undefined ? {} : { description: description.toWellFormed() }),
    parameters: parameters ?? { type: 'object', properties: {}, ...room },
    strict,
  };
}

function objects(values: unknown): readonly JsonObject[] {
  return asArray(values).map((value) => asObject(value) ?? {});
}

/** Requests in which one arbitrary value, at any depth, is replaced. */
function damaged(request: fc.Arbitrary<object>): fc.Arbitrary<object> {
  const value = fc.oneof(
    fc.constantFrom<unknown>(
      undefined,
      null,
      '',
      'x',
      0,
      2,
      true,
      [],
      {},
      'image_url',
      'tool',
      'assistant',
      'data:,',
      'call_9',
    ),
    fc.jsonValue(),
  );
  return fc.tuple(request, value, fc.nat()).map(([whole, wrong, place]) => {
    const json = JSON.stringify(whole);
    let count = 0;
    JSON.parse(json, (_key, old: unknown) => {
      count += 1;
      return old;
    });
    let at = place % Math.max(count - 1, 1);
    return asObject(JSON.parse(json, (_key, old: unknown) => (at-- === 0 ? wrong : old))) ?? {};
  });
}
