import { join } from 'node:path';
import { pythonIn, sourcesOf } from './python-environment.ts';
import { finding, markedLines, runProgram } from './run-program.ts';
import type { Finding, Place, Suite } from './suite.ts';

const driver = join(import.meta.dirname, 'python/run_sdk_tests.py');

const arrayInput = '`input`: Passed on; must be an array of input items, not a string.';
const modelId = '`model`: Passed on; must be a Responses-pool model id.';
const rejected = 'The provider rejected the request; the status is the provider’s.';
const listWrapper = 'List wrapper: `object` = `list`, `data` = array of model objects.';

const tools = { pytest: '9.2.0', 'pytest-asyncio': '1.5.0', 'httpx-aiohttp': '0.2.0' } as const;

const sources =
  'The sources on PyPI have the tests that `openai` and `anthropic` run against a mock of their providers. Those of the endpoints of this gateway run, with its models and without limits of 0 tokens.';

const openai: Suite = {
  name: 'OpenAI SDK',
  from: 'PyPI',
  packages: { openai: '3.57.0', ...tools, rich: '15.0.0' },
  how: `${sources} Chat completions run on both pools.`,
  run: async (place) => [
    ...(await tested(place, 'openai', 'gpt-5.5', [
      'create or TestModels and list or TestAsyncModels and list',
      ...['api_resources/chat/test_completions.py', 'api_resources/test_responses.py', 'api_resources/test_models.py'],
    ])),
    ...(await tested(place, 'openai', 'claude-opus-4-8', ['create', 'api_resources/chat/test_completions.py'])),
  ],
  explained: [
    {
      checks: /^openai, gpt-5.5: Test(?:Async)?Completions::test_method_create_with_all_params/,
      found: /Error code: 400 - The provider rejected the request/,
      why: `The simulated provider refuses a strict function whose schema is open, as OpenAI does. Specification: “${rejected}”`,
    },
    {
      checks: /Responses::test_.*create/,
      found: /model must be the id of a model/,
      why: `They have neither model nor input. Specification: “${modelId}”`,
    },
    {
      checks: /Responses::test_.*create_with_all_params/,
      found: /input must be an array of input items, not a string/,
      why: `They send \`input\` as a string. Specification: “${arrayInput}”`,
    },
  ],
};

const anthropic: Suite = {
  name: 'Anthropic SDK',
  from: 'PyPI',
  packages: {
    anthropic: '2.14.0',
    ...tools,
    'inline-snapshot': '0.36.1',
    'http-snapshot[httpx]': '0.1.9',
  },
  how: sources,
  run: (place) =>
    tested(place, 'anthropic', 'claude-opus-4-8', [
      'create or count_tokens or list',
      ...['api_resources/test_messages.py', 'api_resources/beta/test_messages.py', 'api_resources/test_models.py'],
    ]),
  explained: [
    {
      checks: /Models::test_.*list/,
      found: /validation error|ValidationError/,
      why: `They validate the list of models as Anthropic’s. Specification: “${listWrapper}”`,
    },
  ],
};

/** Tests that official SDKs run against a mock of the provider. */
export const sdkTests: readonly Suite[] = [openai, anthropic];

/** @param chosen words that choose tests, and the files that have them */
async function tested(
  place: Place,
  name: 'openai' | 'anthropic',
  model: string,
  chosen: readonly string[],
): Promise<readonly Finding[]> {
  const suite = name === 'openai' ? openai : anthropic;
  const folder = await sourcesOf(name, suite.packages[name] ?? '', place.installed);
  return markedLines(
    await runProgram(pythonIn(place.installed), [driver, folder, name, model, ...chosen], place),
    finding,
  );
}
