import { join } from 'node:path';
import { rolldown } from 'rolldown';
import { finding, markedLines, runProgram } from './run-program.ts';
import type { Finding, Place, Suite } from './suite.ts';

const driver = join(import.meta.dirname, 'run-open-responses.ts');

const asStream = 'Response: always `text/event-stream` of Responses events.';
const asSent = 'Requests and events of `/v1/responses` follow the Responses format of the Responses pool.';
const unchanged = 'Other provider errors come back unchanged, with the provider’s status and body.';
const unknownPath = 'Unknown path: 404 `not_found`.';

/** The compliance tests in the repository of the Open Responses specification. */
export const openResponses: Suite = {
  name: 'Open Responses',
  from: 'GitHub',
  packages: { 'openresponses/openresponses': '92c12d96d7b61d6d15e2214daa5e9c6000ab6e1c', zod: '3.25.76' },
  how: `They run on a model of the Responses pool. Those that expect an object read it from a stream. Specification: “${asStream}”`,
  run: tested,
  explained: [
    {
      checks: /: websocket-/,
      found: /^WebSocket connection failed$|^HTTP 404 from \/responses\/compact/,
      why: `There are no WebSockets. Specification: “${asStream}”`,
    },
    {
      checks: /: compact-/,
      found: /^HTTP 404/,
      why: `There is no such endpoint. Specification: “${unknownPath}”`,
    },
    {
      checks: /: system-prompt$/,
      found: /^HTTP 400/,
      why: `The simulated provider refuses messages of the role \`system\`, as subscriptions do. Specification: “${unchanged}”`,
    },
    {
      checks: /_penalty: Required$/,
      found: /^(?:presence|frequency)_penalty: Required$/,
      why: `OpenAI’s responses have no such members, and events are relayed. Specification: “${asSent}”`,
    },
  ],
};

/** They import files without extensions, as bundlers allow. */
async function tested(place: Place): Promise<readonly Finding[]> {
  const { installed, repository = '', home } = place;
  const bundle = await rolldown({
    input: join(repository, 'src/lib/compliance-tests.ts'),
    platform: 'node',
    tsconfig: false,
    resolve: { alias: { zod: join(installed, 'node_modules/zod') } },
  });
  const file = join(home, 'compliance-tests.js');
  await bundle.write({ file, format: 'esm' });
  await bundle.close();
  return markedLines(await runProgram(process.execPath, [driver, file, 'gpt-5.5', '_penalty'], place), finding);
}
