import { pathToFileURL } from 'node:url';
import { z } from 'zod';

// Runs the compliance tests of Open Responses against the gateway, and prints each result as a line
// of JSON. Arguments: their bundled module, a model, and words of errors to set apart. A check
// that finds only these is kept, and the error is a finding of its own.

const [file = '', model = '', ...setApartWords] = process.argv.slice(2);

const template = z.looseObject({
  id: z.string(),
  transport: z.string().optional(),
  endpoint: z.string().optional(),
  getMockResponse: z.unknown().optional(),
});
const result = z.looseObject({ id: z.string(), status: z.string(), errors: z.array(z.string()).optional() });

type RunAllTests = (config: object, onProgress: () => void, templates: readonly unknown[]) => Promise<unknown>;

const module: { readonly testTemplates: unknown; readonly runAllTests: RunAllTests } = await import(
  pathToFileURL(file).href
);
const config = {
  baseUrl: `${process.env.GATEWAY_URL}/v1`,
  apiKey: process.env.GATEWAY_TOKEN,
  authHeaderName: 'Authorization',
  useBearerPrefix: true,
  model,
  runtime: 'server',
};
const templates = z.array(template).parse(module.testTemplates).map(streamed);
const results = z.array(result).parse(await module.runAllTests(config, () => undefined, templates));
const setApart = new Set<string>();
for (const { id, status, errors = [] } of results) {
  const isSetApart = (error: string) => setApartWords.some((words) => error.includes(words));
  for (const error of errors.filter(isSetApart)) setApart.add(error.replace(/^.*?(?=\w+: [^:]*$)/, ''));
  const problems = [...new Set(errors.filter((error) => !isSetApart(error)))];
  const kept = status === 'passed' || (status === 'failed' && errors.length > 0 && problems.length === 0);
  show(id, status === 'skipped' ? 'skipped' : kept ? 'kept' : 'failed', problems.join('; '));
}
// What many checks find alike is one finding.
for (const error of setApart) show(error, 'failed', error);

/** The same check of the same request, read from a stream: `/v1/responses` has no other answer. */
function streamed(test: z.infer<typeof template>): object {
  const isStreamable = test.transport !== 'websocket' && test.endpoint === undefined && !test.getMockResponse;
  return isStreamable ? { ...test, streaming: true } : test;
}

function show(check: string, outcome: string, found: string): void {
  process.stdout.write(`finding ${JSON.stringify({ check: `${model}: ${check}`, outcome, found })}\n`);
}
