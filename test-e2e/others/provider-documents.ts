import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { documentPackages, type Lack, requestJudge } from './request-judge.ts';
import type { Finding, Suite } from './suite.ts';

/** A provider's OpenAPI document, and the golden requests of the adapter for its format. */
interface Described {
  readonly provider: 'openai' | 'anthropic';
  readonly path: string;
  readonly adapter: string;
  readonly model: string;
  /** Members of every golden request, as `golden-requests.test.ts` has them. */
  readonly fixed: object;
}

const described: readonly Described[] = [
  {
    provider: 'openai',
    path: '/responses',
    adapter: 'responses-adapter',
    model: 'gpt-5.5',
    fixed: { stream: true, store: false },
  },
  {
    provider: 'anthropic',
    path: '/v1/messages',
    adapter: 'messages-adapter',
    model: 'claude-opus-4-8',
    fixed: { stream: true, max_tokens: 32_000 },
  },
];

/** Members that earlier answers of the model have. */
export const partsOfAnswers: Lack = {
  found: 'lacks `id`, `status` or `logprobs` of an earlier answer',
  members: { OutputMessage: ['id', 'status'], OutputTextContent: ['logprobs'] },
};

/** What adapters send, judged by the documents that the providers publish. */
export const providerDocuments: Suite = {
  name: 'OpenAPI documents of the providers',
  from: 'PyPI',
  packages: documentPackages,
  how: 'The package has the documents of OpenAI and Anthropic of 2026-05-31. Every request that the golden cases of the adapters become is validated with the request schema of `POST /v1/responses` or `POST /v1/messages`. `oneOf` counts as `anyOf`, as OpenAI’s alternatives overlap.',
  run: async ({ installed }) => described.flatMap((each) => judged(each, installed)),
  explained: [
    {
      checks: /^openai: /,
      found: new RegExp(`^${partsOfAnswers.found}$`),
      why: 'Earlier answers in a chat request have no `id`, `status` or `logprobs`, which OpenAI’s document requires of them. The rest of these requests is valid.',
    },
    {
      checks: /^openai: /,
      found: /^\/reasoning\/effort must be equal to one of the allowed values/,
      why: 'The effort `max` of newer models is in OpenAI’s document since the summer of 2026.',
    },
    {
      checks: /^anthropic: /,
      found: /^\/thinking must have required property 'budget_tokens'/,
      why: 'The thinking `between_tools` belongs to a model that is newer than the document.',
    },
  ],
};

const goldenCases = z.array(
  z.object({ name: z.string(), model: z.string().optional(), becomes: z.record(z.string(), z.unknown()) }),
);

function judged({ provider, path, adapter, model: usualModel, fixed }: Described, installed: string) {
  const judge = requestJudge(installed, { provider, path }, [partsOfAnswers]);
  const folder = join(import.meta.dirname, '../../services', adapter, 'src/format/__fixtures__/requests');
  const cases = globSync('*.json', { cwd: folder })
    .toSorted()
    .flatMap((name) => goldenCases.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))))
    .filter(({ becomes }) => !('refused' in becomes));
  return cases.map(({ name, model = usualModel, becomes }): Finding => {
    const found = judge({ model, ...fixed, ...becomes });
    return { check: `${provider}: ${name}`, outcome: found === '' ? 'kept' : 'failed', found };
  });
}
