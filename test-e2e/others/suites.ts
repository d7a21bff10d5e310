import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { openResponses } from './open-responses.ts';
import { providerDocuments } from './provider-documents.ts';
import { pythonIn } from './python-environment.ts';
import { finding, markedLines, runProgram } from './run-program.ts';
import { sdkTests } from './sdk-tests.ts';
import { sentRequests } from './sent-requests.ts';
import type { Finding, OthersReport, Place, Suite } from './suite.ts';

const python = join(import.meta.dirname, 'python');

const asStream = 'Response: always `text/event-stream` of Responses events.';
const arrayInput = '`input`: Passed on; must be an array of input items, not a string.';
const asSent = 'Requests and events of `/v1/responses` follow the Responses format of the Responses pool.';
const otherParameters = 'Other parameters (for example seed, logprobs) are ignored.';
const messageFields = '`role` is `assistant`; `content` is text; may carry `tool_calls`.';
const userParts = 'Every role takes text parts. `user` messages also take `image_url` parts.';
const unchanged = 'Other provider errors come back unchanged, with the provider’s status and body.';

const compatcanary: Suite = {
  name: 'CompatCanary',
  from: 'npm',
  packages: { compatcanary: '0.2.2' },
  how: 'It runs with the profile `modern` on a model of the Responses pool, and `chat` on a class of the Messages pool.',
  run: async (place) => [...(await scan(place, 'gpt-5.5', 'modern')), ...(await scan(place, 'gateway/claude', 'chat'))],
  explained: [
    {
      checks: /responses\.(?:basic|streaming)$/,
      found: /^HTTP 400/,
      why: `They send \`input\` as a string. Specification: “${arrayInput}”`,
    },
  ],
};

const llmComply: Suite = {
  name: 'llm-comply',
  from: 'PyPI',
  packages: { 'llm-comply': '0.5.0', jsonschema: '4.26.0' },
  how: `It runs with the formats \`open-responses\`, \`openai-chat\` (on both pools) and \`anthropic\`. The checks of Open Responses that expect an object read it from a stream. Specification: “${asStream}”`,
  run: async (place) => [
    ...(await comply(place, ['open-responses', 'openresponses.json', 'gpt-5.5', 'Authorization', '_penalty'])),
    ...(await comply(place, ['openai-chat', 'openai_chat.json', 'gpt-5.5', 'Authorization', ...nullMembers])),
    ...(await comply(place, ['openai-chat', 'openai_chat.json', 'claude-opus-4-8', 'Authorization', ...nullMembers])),
    ...(await comply(place, ['anthropic', 'anthropic.json', 'claude-haiku-4-5', 'x-api-key'])),
  ],
  explained: [
    {
      checks: /^open-responses/,
      found: /^'(?:presence|frequency)_penalty' is a required property$/,
      why: `OpenAI’s responses have no such members, and events are relayed. Specification: “${asSent}”`,
    },
    {
      checks: /^openai-chat/,
      found: /^'logprobs' is a required property$/,
      why: `A choice has no \`logprobs\`, not even null. Specification: “${otherParameters}”`,
    },
    {
      checks: /^openai-chat/,
      found: /^'refusal' is a required property$/,
      why: `A message has no \`refusal\` unless the model refuses. Specification: “${messageFields}”`,
    },
    {
      checks: /^openai-chat, claude-opus-4-8: /,
      found: /^$|reasoning/,
      why: 'The suite tries reasoning only on models of the other pool, by their names.',
    },
  ],
};

const nullMembers = ["'logprobs' is a required", "'refusal' is a required"];

const langChain: Suite = {
  name: 'LangChain standard tests',
  from: 'PyPI',
  packages: {
    'langchain-tests': '1.1.9',
    'langchain-core': '1.8.3',
    'langchain-openai': '1.7.4',
    'langchain-anthropic': '1.7.10',
    openai: '3.57.0',
    anthropic: '2.14.0',
    pytest: '9.2.0',
    'pytest-asyncio': '1.5.0',
  },
  how: 'They use `ChatOpenAI` on chat completions (both pools) and on Responses, and `ChatAnthropic` on Messages. Small pictures replace those of the Internet, and questions about a tool name it to the simulated model.',
  run: async (place) => {
    for (const file of ['test_langchain.py', 'findings.py']) await copyFile(join(python, file), join(place.home, file));
    const loops = ['asyncio_mode=auto', 'asyncio_default_test_loop_scope=session'].flatMap((option) => ['-o', option]);
    const parameters = [
      '-m',
      'pytest',
      '-s',
      '-q',
      '-p',
      'findings',
      '-p',
      'no:cacheprovider',
      ...loops,
      'test_langchain.py',
    ];
    return markedLines(await runProgram(pythonIn(place.installed), parameters, place), finding);
  },
  explained: [
    {
      checks: /^TestChat/,
      found: /PDF|audio|image tool message|Anthropic inputs/,
      why: `Chat completions takes no such parts. Specification: “${userParts}”`,
    },
    {
      checks: /^TestResponses::test_double_messages/,
      found: /Error code: 400/,
      why: `The simulated provider refuses messages of the role \`system\`, as subscriptions do. Specification: “${unchanged}”`,
    },
    {
      checks: /^Test(?:Responses|Messages)/,
      found: /audio|tool message|Anthropic inputs/,
      why: 'The suite leaves to each client which parts its provider takes. `ChatOpenAI` and `ChatAnthropic` do not declare these.',
    },
    {
      checks: /::test_json_mode/,
      found: /json mode/,
      why: 'The simulated model writes JSON of a given schema, and can’t read the names of members from a question.',
    },
    { checks: /::test_stream_time/, found: /VCR/, why: 'It needs a recording of the provider.' },
  ],
};

export const suites: readonly Suite[] = [
  compatcanary,
  openResponses,
  llmComply,
  langChain,
  ...sdkTests,
  providerDocuments,
  sentRequests,
];

export const leftOut: OthersReport['leftOut'] = [
  {
    name: 'AI SDK',
    why: 'Its packages contain no tests for providers. `test-e2e/behaviours` uses its clients.',
  },
  {
    name: 'OpenAI and Anthropic SDKs for TypeScript',
    why: 'Their packages contain no tests. Those in their repositories are the same as the ones of the SDKs for Python, made from the same descriptions, or have a `fetch` of their own. `test-e2e/behaviours` uses the SDKs.',
  },
  {
    name: 'Integration tests of Bifrost',
    why: 'They are not published as a package. They call the routes of that gateway, such as `/openai/v1` and `/anthropic`, and expect what real models of many providers answer.',
  },
];

const canaryReport = z.object({
  results: z.array(z.object({ id: z.string(), status: z.string(), summary: z.string() })),
});

async function scan(place: Place, model: string, profile: string): Promise<readonly Finding[]> {
  const program = join(place.installed, 'node_modules/compatcanary/src/cli.js');
  const target = ['--base-url', `${place.url}/v1`, '--model', model, '--api-key', place.token];
  const parameters = [program, 'scan', ...target, '--profile', profile, '--format', 'json', '--fail-on', 'never'];
  const output = await runProgram(process.execPath, parameters, place);
  const { results } = canaryReport.parse(JSON.parse(output));
  return results.map(({ id, status, summary }) => ({
    check: `${model}: ${id}`,
    outcome: status === 'pass' ? 'kept' : 'failed',
    found: summary,
  }));
}

async function comply(place: Place, parameters: readonly string[]): Promise<readonly Finding[]> {
  const program = [join(python, 'run_llm_comply.py'), ...parameters];
  return markedLines(await runProgram(pythonIn(place.installed), program, place), finding);
}
