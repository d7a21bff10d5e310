import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type SentRequest, sentRequest } from '../topologies/suite-simulator.ts';
import { partsOfAnswers } from './provider-documents.ts';
import { documentPackages, type Lack, type RequestJudge, requestJudge } from './request-judge.ts';
import type { Finding, Place, Suite } from './suite.ts';

const root = join(import.meta.dirname, '../..');

/** The end-to-end tests of one process whose provider is the simulator. */
const files = ['all-in-one', 'clients', 'contract'].map((name) => `test-e2e/suite/${name}.test.ts`);

const lacks: readonly Lack[] = [
  { found: 'lacks `strict` of a tool', members: { FunctionTool: ['strict'] } },
  { found: 'lacks `id` of earlier reasoning', members: { ReasoningItem: ['id'] } },
  partsOfAnswers,
];

const otherFields = 'Other fields (for example `instructions`) are passed on.';
const everyOther = 'The gateway resolves `model` and forwards every other field unchanged.';

/** What a gateway sends while the end-to-end tests run, judged by the providers' documents. */
export const sentRequests: Suite = {
  name: 'Requests of the end-to-end tests',
  from: 'PyPI',
  packages: documentPackages,
  how: `The end-to-end tests run with the simulated provider, and every request that it receives is validated with the schema of its path in the same documents; with that of \`?beta=true\` if it has \`anthropic-beta\`. These are bodies up to 64 KiB of ${files.map((file) => `\`${file}\``).join(', ')}. A check is one body.`,
  run: async ({ installed, home, signal }) => judgedBy(judgesIn(installed), await requestsOfTests({ home, signal })),
  explained: [
    {
      checks: /^openai, to /,
      found: /^lacks /,
      why: `Clients send earlier answers, reasoning and tools without members that OpenAI’s document requires and OpenAI does not. Specification: “${otherFields}”`,
    },
    {
      checks: /^openai, to responses-gpt-bytes-a$/,
      found: /^\/metadata\/…/,
      why: `A test sends any JSON in any member, and finds it unchanged. Specification: “${otherFields}”`,
    },
    {
      checks: /^anthropic, to bytes-a$/,
      found: /must NOT have additional properties: …$/,
      why: `A test sends any JSON in any member, and finds it unchanged. Specification: “${everyOther}”`,
    },
    {
      checks: /^anthropic, to /,
      found: /^ must NOT have additional properties: thread$/,
      why: 'The member `thread` belongs to a beta feature that is newer than the document.',
    },
  ],
};

/** By path, and for Anthropic also by whether a request has beta features. */
interface Judges {
  readonly responses: RequestJudge;
  readonly messages: RequestJudge;
  readonly countTokens: RequestJudge;
  readonly betaMessages: RequestJudge;
  readonly betaCountTokens: RequestJudge;
}

function judgesIn(installed: string): Judges {
  const judge = (provider: 'openai' | 'anthropic', path: string) => requestJudge(installed, { provider, path }, lacks);
  return {
    responses: judge('openai', '/responses'),
    messages: judge('anthropic', '/v1/messages'),
    countTokens: judge('anthropic', '/v1/messages/count_tokens'),
    betaMessages: judge('anthropic', '/v1/messages?beta=true'),
    betaCountTokens: judge('anthropic', '/v1/messages/count_tokens?beta=true'),
  };
}

async function requestsOfTests({ home, signal }: Pick<Place, 'home' | 'signal'>): Promise<readonly SentRequest[]> {
  const folder = join(home, 'sent');
  await runTests(folder, signal);
  const lines = globSync('*.jsonl', { cwd: folder }).flatMap((file) =>
    readFileSync(join(folder, file), 'utf8').split('\n'),
  );
  // A retry and a repeated test send the same body.
  return [...new Set(lines)].filter((line) => line !== '').map((line) => sentRequest.parse(JSON.parse(line)));
}

/** @throws Error if a test fails, or the signal ends them. */
async function runTests(folder: string, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const vitest = join(root, 'node_modules/vitest/vitest.mjs');
  // In a process group of its own, which the gateways of the tests belong to.
  const tests = spawn(process.execPath, [vitest, 'run', '--project', 'e2e', ...files], {
    cwd: root,
    env: { ...process.env, SENT_REQUESTS: folder },
    stdio: ['ignore', 'ignore', 'inherit'],
    detached: true,
  });
  const end = () => void (tests.pid !== undefined && process.kill(-tests.pid, 'SIGTERM'));
  signal.addEventListener('abort', end);
  try {
    const [exitCode] = await once(tests, 'close');
    signal.throwIfAborted();
    if (exitCode !== 0) throw new Error(`the end-to-end tests ended with ${exitCode}`);
  } finally {
    signal.removeEventListener('abort', end);
  }
}

/** Findings with the same text at the same account are one: they are many bodies of one test. */
function judgedBy(judges: Judges, requests: readonly SentRequest[]): readonly Finding[] {
  const findings = requests.map((request): Finding => {
    const { provider, judge } = judgeOf(judges, request);
    const found = judge(request.body);
    return {
      check: `${provider}, to ${request.account}`,
      outcome: found === '' ? 'kept' : 'failed',
      found: request.account.endsWith('bytes-a') ? withoutMadeUpNames(found) : found,
    };
  });
  const bad = findings.filter(({ outcome }) => outcome === 'failed');
  const distinct = new Map(bad.map((finding) => [`${finding.check} ${finding.found}`, finding]));
  return [...findings.filter(({ outcome }) => outcome === 'kept'), ...distinct.values()];
}

/** A test makes them up, so they differ each time. */
function withoutMadeUpNames(found: string): string {
  if (found.startsWith('/metadata')) return '/metadata/…';
  return found.replace(/^.*must NOT have additional properties: .*$/s, 'must NOT have additional properties: …');
}

/** @throws Error if the gateway requested something that no adapter requests. */
function judgeOf(judges: Judges, { path, isBeta }: SentRequest) {
  switch (path) {
    case '/v1/responses':
      return { provider: 'openai', judge: judges.responses };
    case '/v1/messages':
      return { provider: 'anthropic', judge: isBeta ? judges.betaMessages : judges.messages };
    case '/v1/messages/count_tokens':
      return { provider: 'anthropic', judge: isBeta ? judges.betaCountTokens : judges.countTokens };
    default:
      throw new Error(`there is no document of ${path}`);
  }
}
