import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes a gateway.yaml with two accounts for each pool, all at the port of the provider double.
 */
export function conformanceFile(providerPort: number) {
  return async (folder: string): Promise<string> => {
    const address = `base_url: "http://127.0.0.1:${providerPort}/v1"`;
    const lines = [
      'pools:',
      `  responses: { format: responses, owned_by: provider_a, ${address} }`,
      `  messages: { format: messages, owned_by: provider_b, ${address} }`,
      'accounts:',
      ...['a', 'b'].flatMap((letter) => [
        `  - { pool: responses, name: ${letter}, credential: { bearer: secret-of-responses-${letter} } }`,
        `  - { pool: messages, name: ${letter}, credential: { api_key: secret-of-messages-${letter} } }`,
      ]),
      'classes:',
      '  sterk: { name: Sterk, effort: low, candidates: [responses/gpt-5.5] }',
      '  claude: { name: Claude, effort: low, candidates: [messages/claude-sonnet-5] }',
      // The double's list exists only during the checks.
      'settings: { model_list_refresh_seconds: 1 }',
      '',
    ];
    const path = join(folder, 'gateway.yaml');
    await writeFile(path, lines.join('\n'));
    return path;
  };
}
