import { setTimeout } from 'node:timers/promises';
import type { Scene } from '../check.ts';
import { chat, chunksOf } from '../formats/chat.ts';
import { askStream, doubleOf, openStream, streamOf } from '../formats/format.ts';
import { conversing } from '../formats/formats.ts';
import { Found, shown } from '../formats/found.ts';
import { postEndpoints } from '../target/endpoints.ts';
import { must } from '../verdict.ts';
import { askWell, goodBody } from './good-requests.ts';
import { type Promised, type Rule, specifies } from './rules.ts';

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'];

/**
 * The content of successful answers: their headers and fields, the lists, and usage that adds up.
 */
export const specificationAnswers: readonly Rule[] = [
  ...postEndpoints.map(
    (endpoint): Rule => ({
      name: `spec-${endpoint}-request-id`,
      rule: 'Every answer, also an error, has a unique `x-request-id`.',
      source: 'openapi.yaml, info: Request ids',
      async run(scene) {
        const good = await askWell(scene, endpoint);
        const bad = await scene.gateway.ask(endpoint, { body: '{' });
        const ids = [good, bad].map(({ headers }) => headers['x-request-id'] ?? '');
        must(ids.every((id) => id !== '') && ids[0] !== ids[1], `two answers have the ids ${shown(ids)}`);
      },
    }),
  ),
  ...specifies([
    {
      name: 'spec-chat-names-who-answers',
      section: 'POST /v1/chat/completions',
      says: '`x-gateway-provider` and `x-gateway-model` name the provider and the model that answered.',
      async run(scene) {
        const whole = await askWell(scene, 'chat');
        const stream = await openStream(scene, chat, { text: 'Say hello.' });
        await stream.all();
        for (const { headers } of [whole, stream]) {
          for (const name of ['x-gateway-provider', 'x-gateway-model']) {
            must((headers[name] ?? '') !== '', `${name} should be in the answer; it is not`);
          }
        }
      },
    },
    {
      name: 'spec-chat-completion-fields',
      section: 'Chat completion object and chunk',
      says: 'Every field of the completion object, with one choice, and no other field.',
      async run(scene) {
        const answer = await askWell(scene, 'chat');
        const completion = new Found(answer.json(), 'the completion');
        mustHaveOnly(completion, ['id', 'object', 'created', 'model', 'choices', 'usage']);
        must(completion.at('choices').list.length === 1, 'the completion should have one choice');
        mustHaveOnly(completion.at('choices', 0), ['index', 'message', 'finish_reason']);
        mustHaveOnly(completion.at('choices', 0, 'message'), ['role', 'content', 'tool_calls', 'refusal']);
      },
    },
    {
      name: 'spec-chat-chunk-fields',
      section: 'Chat completion object and chunk',
      says: 'Every field of a chunk, the same id in all, in the order role, content or tool calls, closing chunk, usage, `[DONE]`.',
      async run(scene) {
        const more = chat.asksForUsage;
        const chunks = chunksOf(await streamOf(scene, chat, { text: 'Say hello.', more }));
        for (const chunk of chunks) mustHaveOnly(chunk, ['id', 'object', 'created', 'model', 'choices', 'usage']);
        const deltas = chunks.flatMap((chunk) => chunk.at('choices').list).map((choice) => choice.at('delta'));
        deltas[0]?.at('content').is('');
        must(Object.keys(deltas.at(-1)?.object ?? {}).length === 0, 'the delta of the closing chunk should be empty');
      },
    },
    {
      name: 'spec-chat-takes-every-effort',
      section: 'POST /v1/chat/completions',
      says: "Every `reasoning_effort`, on every model; the default is the class's.",
      async run(scene) {
        for (const reasoning_effort of efforts) {
          const body = { ...goodBody(scene, 'chat'), reasoning_effort };
          const { status } = await scene.gateway.ask('chat', { body });
          must(status === 200, `${reasoning_effort} should be taken; the status is ${status}`);
        }
      },
    },
    {
      name: 'spec-count-tokens-fields',
      section: 'Messages object and count result',
      says: 'The count result is `input_tokens` and nothing else.',
      async run(scene) {
        const answer = await askWell(scene, 'count-tokens');
        mustHaveOnly(new Found(answer.json(), 'the count'), ['input_tokens']);
      },
    },
    {
      name: 'spec-models-order-and-fields',
      section: 'GET /v1/models',
      says: 'Classes first, then the Responses-pool models, then the Messages-pool models; `owned_by` of each.',
      async run({ gateway }) {
        const list = new Found((await gateway.ask('models')).json(), 'the list');
        mustHaveOnly(list, ['object', 'data']);
        const owners = ['gateway', 'provider_a', 'provider_b'];
        const ranks = list.at('data').list.map((model) => {
          mustHaveOnly(model, ['id', 'object', 'created', 'owned_by', 'name']);
          model.at('created').is(0);
          void model.at('name').name;
          model.at('owned_by').is(...owners);
          if (model.at('owned_by').value === 'gateway')
            must(/^gateway\/./.test(model.at('id').name), 'a class is gateway/…');
          return owners.indexOf(model.at('owned_by').string);
        });
        const isSorted = ranks.every((rank, index) => rank >= (ranks[index - 1] ?? 0));
        must(isSorted, 'the owners should be in their order');
      },
    },
    {
      name: 'spec-usage-fields',
      section: 'Model object and usage object',
      says: 'Every field of the usage object, its periods and its limits, and no other.',
      async run(scene) {
        const usage = await usageOf(scene);
        mustHaveOnly(usage, ['object', 'token', 'timezone', 'today', 'last7Days', 'limits']);
        usage.at('object').is('usage');
        usage.at('timezone').is('Europe/Amsterdam');
        mustHaveOnly(usage.at('limits'), ['requestsPerMinute', 'tokensPerDay']);
        for (const period of [usage.at('today'), usage.at('last7Days')]) mustAddUp(period);
      },
    },
    ...conversing.map(
      (format): Promised => ({
        name: `spec-usage-counts-${format.endpoint}`,
        endpoints: ['usage', format.endpoint],
        section: 'Model object and usage object',
        says: '`totalTokens` is input plus output; cached tokens are in the input; `byModel` largest first.',
        needs: ['double'],
        alone: true,
        async run(scene) {
          const before = countsOf(await settledUsage(scene));
          using scripted = doubleOf(scene).script({ usage: { input: 1_234, cached: 234, output: 56, reasoning: 6 } });
          for (let requests = 0; requests < 2; requests++)
            await (await askStream(scene, format, { text: scripted.marker })).all();
          const expected = before.map((count, index) => count + ([2, 2_468, 468, 112, 2_580][index] ?? 0));
          let after = before;
          for (let tries = 0; tries < 40 && shown(after) !== shown(expected); tries++) {
            await setTimeout(250, undefined, { signal: scene.signal });
            after = countsOf(await usageOf(scene));
          }
          must(
            shown(after) === shown(expected),
            `${countNames.join(', ')} should be ${shown(expected)}; they are ${shown(after)}`,
          );
        },
      }),
    ),
  ]),
];

const countNames = ['requests', 'inputTokens', 'cachedTokens', 'outputTokens', 'totalTokens'] as const;

async function usageOf({ gateway }: Scene): Promise<Found> {
  return new Found((await gateway.ask('usage')).json(), 'the usage');
}

function countsOf(usage: Found): readonly number[] {
  return countNames.map((name) => usage.at('today', name).count);
}

/** Time until the usage of earlier checks has been counted. */
async function settledUsage(scene: Scene): Promise<Found> {
  let usage = await usageOf(scene);
  for (let same = 0; same < 4; ) {
    await setTimeout(250, undefined, { signal: scene.signal });
    const now = await usageOf(scene);
    same = shown(countsOf(now)) === shown(countsOf(usage)) ? same + 1 : 0;
    usage = now;
  }
  return usage;
}

function mustAddUp(period: Found): void {
  mustHaveOnly(period, ['since', ...countNames, 'byModel']);
  if (!/T2[123]:00:00\.000Z$/.test(period.at('since').name))
    throw period.at('since').not('midnight in Amsterdam, in UTC');
  const models = period.at('byModel').list;
  for (const model of models) mustHaveOnly(model, ['provider', 'model', ...countNames]);
  for (const name of countNames) {
    const sum = models.reduce((total, model) => total + model.at(name).count, 0);
    period.at(name).is(sum);
  }
  period.at('totalTokens').is(period.at('inputTokens').count + period.at('outputTokens').count);
  const totals = models.map((model) => model.at('totalTokens').count);
  const isSorted = totals.every((total, index) => total <= (totals[index - 1] ?? total));
  must(isSorted, 'byModel should be largest first');
}

/** Fields may be missing; other checks cover that. */
function mustHaveOnly(found: Found, names: readonly string[]): void {
  const other = Object.keys(found.object).find((name) => !names.includes(name));
  if (other !== undefined) throw found.at(other).not('no field of it');
}
