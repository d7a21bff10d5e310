import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Settings of a gateway with a secret in every possible place, and these secrets. */
export interface SecretSettings extends AsyncDisposable {
  readonly env: Readonly<Record<string, string>>;
  /** Writes a gateway.yaml with literal secrets and with references. */
  readonly writeFile: (folder: string, simulatorUrl: string) => Promise<string>;
  readonly secrets: readonly string[];
  /** Names that a text could refer to. */
  readonly names: readonly string[];
}

export async function secretSettings(): Promise<SecretSettings> {
  const folder = await mkdtemp(join(tmpdir(), 'gateway-secrets-'));
  const secrets: string[] = [];
  const secret = (name: string, bytes = 24) => {
    const text = `${name}${randomBytes(bytes).toString('hex')}`;
    secrets.push(text);
    return text;
  };
  const inFile = async (name: string) => {
    const path = join(folder, secret(`path-of-${name}-`));
    await writeFile(path, `${secret(`${name}-in-file-`)}\n`);
    return path;
  };
  const env = {
    ACCOUNT_KEYS: `k1:${secret('', 32)}`,
    PERSON_KEYS: `k1:${secret('', 32)}`,
    TOKEN_HASH_KEY: secret('', 32),
    OPENAI_API_KEY: secret('openai-'),
    ANTHROPIC_API_KEY_FILE: await inFile('anthropic'),
    OIDC_ISSUER: 'http://127.0.0.1:1/realm',
    OIDC_CLIENT_ID: 'gateway',
    OIDC_CLIENT_SECRET_FILE: await inFile('oidc'),
    OIDC_ROLES: 'everyone=viewer',
    ADMIN_PUBLIC_URL: 'http://127.0.0.1:9090',
    HTTPS_PROXY: `http://someone:${secret('proxy-')}@127.0.0.1:1`,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=${secret('otlp-')}`,
    RECEIVER_HOOK: `http://127.0.0.1:1/${secret('receiver-')}`,
    RECEIVER_KEY: `whsec_${secret('', 32)}`,
    NOT_A_SETTING: secret('foreign-'),
    ALSO_NONE_FILE: await inFile('foreign'),
    LOG_LEVEL: 'trace',
  };
  const ofAccount = { responses: secret('responses-'), messages: secret('messages-'), commented: secret('commented-') };
  const ofUrl = secret('url-');
  return {
    env,
    secrets,
    names: Object.keys(env).map((name) => name.replace(/_FILE$/, '')),
    async writeFile(folder, simulatorUrl) {
      const path = join(folder, 'gateway.yaml');
      const lines = [
        'pools:',
        `  responses: { format: responses, owned_by: provider_a, base_url: "${simulatorUrl}/v1" }`,
        `  messages: { format: messages, owned_by: provider_b, base_url: "${simulatorUrl}/v1" }`,
        `  guarded: { format: messages, owned_by: provider_b, base_url: "http://someone:${ofUrl}@127.0.0.1:1/v1" }`,
        'accounts:',
        `  - { pool: responses, name: written, credential: { bearer: ${ofAccount.responses} } }`,
        `  - { pool: messages, name: written, credential: { api_key: "${ofAccount.messages}" } } # not ${ofAccount.responses}`,
        `  - { pool: guarded, name: named, credential: { bearer: "\${OPENAI_API_KEY}" } }`,
        `# - { pool: guarded, name: old, credential: { bearer: "${ofAccount.commented}" } }`,
        'classes:',
        '  sterk: { name: Sterk, effort: high, candidates: [responses/gpt-5.5, messages/claude-opus-4-8] }',
        'alerts:',
        `  - { name: ops, format: json, url: "\${RECEIVER_HOOK}", secret: "\${RECEIVER_KEY}" }`,
      ];
      await writeFile(path, `${lines.join('\n')}\n`);
      return path;
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
