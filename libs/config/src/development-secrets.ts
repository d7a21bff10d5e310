import type { EnvReader } from './env-reader.ts';

/**
 * ALLOW_DEVELOPMENT_SECRETS (false): whether the published secrets of deploy/docker/.env.example
 * and of the Kubernetes overlay for development are accepted.
 */
export function readAllowsDevelopmentSecrets(reader: EnvReader): boolean {
  return reader.boolean('ALLOW_DEVELOPMENT_SECRETS', false);
}

/**
 * Adds a problem when a setting has such a secret and may not. The value is not repeated.
 * @param remedy how to create a secret.
 */
export function checkNotOfDevelopment(reader: EnvReader, name: string, text: string, remedy: string): void {
  if (readAllowsDevelopmentSecrets(reader) || !isDevelopmentSecret(text)) return;
  reader.problem(
    `${name} is the public one of deploy/docker/.env.example. ${remedy} To use it for a trial on your own machine, set ALLOW_DEVELOPMENT_SECRETS=true.`,
  );
}

export function isDevelopmentSecret(text: string): boolean {
  return developmentSecrets.some((secret) => text.includes(secret));
}

const developmentSecrets = [
  'gw_a_developmentonlydevelopmentonly15DEd7',
  'ZGV2ZWxvcG1lbnQtb25seS1kZXZlbG9wbWVudC1vbmw=',
] as const;
