import { ConfigError, type Environment, parseGatewayFile } from '@gateway/config';
import { stringify } from 'yaml';
import { z } from 'zod';

const partNames = ['settings', 'pools', 'accounts', 'classes', 'prices', 'alerts'];

/** The problems of a gateway.yaml, or of a part of one. Empty for other YAML. */
export function gatewayFileProblems(document: unknown): readonly string[] {
  const parsed = z.record(z.string(), z.unknown()).safeParse(document);
  if (!parsed.success) return [];
  const names = Object.keys(parsed.data);
  if (names.length === 1 && names[0] === 'credential')
    return problemsOf({ ...whole, accounts: [{ ...account, ...parsed.data }] });
  return names.some((name) => partNames.includes(name)) ? problemsOf({ ...whole, ...parsed.data }) : [];
}

const account = { pool: 'responses', name: 'team-a', credential: { bearer: 'key' } };

/** The file around a part, if a page shows only that part. */
const whole = {
  pools: { responses: { format: 'responses', owned_by: 'provider_a', base_url: 'https://api.openai.com/v1' } },
  accounts: [],
};

function problemsOf(file: object): readonly string[] {
  try {
    parseGatewayFile(stringify(file), 'gateway.yaml', everyVariable);
    return [];
  } catch (thrown) {
    if (thrown instanceof ConfigError) return thrown.problems;
    throw thrown;
  }
}

/** Every variable that a file refers to is set, and none names a file to read it from. */
const everyVariable: Environment = new Proxy(
  {},
  {
    get: (_, name) => {
      const [, end = ''] = /_(FILE|URL|WEBHOOK_SECRET)$/.exec(String(name)) ?? [];
      return end === 'FILE' ? undefined : (valuesWithForm.get(end) ?? 'a-value');
    },
  },
);

const valuesWithForm: ReadonlyMap<string, string> = new Map([
  ['URL', 'https://a.example/value'],
  ['WEBHOOK_SECRET', `whsec_${'value+'.repeat(8)}`],
]);
