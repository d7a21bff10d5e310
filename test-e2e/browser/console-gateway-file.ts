import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the gateway.yaml of the console's gateway: two pools, classes over both of them, and
 * prices. The simulator distinguishes accounts by their credential: `responses-team-a`.
 */
export async function writeConsoleGatewayFile(folder: string, simulatorUrl: string): Promise<string> {
  const text = `settings: { model_list_refresh_seconds: 2 }
pools:
  responses: { format: responses, owned_by: provider_a, base_url: "${simulatorUrl}/v1" }
  messages: { format: messages, owned_by: provider_b, base_url: "${simulatorUrl}/v1" }
accounts:
  - { pool: responses, name: team-a, credential: { bearer: responses-team-a } }
  - { pool: responses, name: team-b, credential: { bearer: responses-team-b } }
  - { pool: responses, name: team-c, credential: { bearer: responses-team-c } }
  - { pool: messages, name: team-a, credential: { api_key: messages-team-a } }
  - { pool: messages, name: team-b, credential: { api_key: messages-team-b } }
classes:
  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }
  snel: { name: Snel, effort: low, candidates: [responses/gpt-5.5-mini, messages/claude-haiku-4-5] }
  claude: { name: Claude, effort: medium, candidates: [messages/claude-sonnet-5] }
prices:
  currency: EUR
  models:
    - { model: gpt-5.5, input: 1.25, cached_input: 0.125, output: 10 }
    - { model: gpt-5.5-mini, input: 0.25, cached_input: 0.025, output: 2 }
    - { model: claude-opus-4-8, input: 5, cached_input: 0.5, output: 25 }
    - { model: claude-sonnet-5, input: 3, cached_input: 0.3, output: 15 }
    - { model: claude-haiku-4-5, input: 1, cached_input: 0.1, output: 5 }
`;
  const path = join(folder, 'gateway.yaml');
  await writeFile(path, text);
  return path;
}
