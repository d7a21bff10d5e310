import { randomBytes } from 'node:crypto';
import { type DescMethod, toJsonString } from '@bufbuild/protobuf';
import { AccountService } from '@gateway/proto/admin/v1/account_service_pb.js';
import { AuditService, ListAuditResponseSchema } from '@gateway/proto/admin/v1/audit_service_pb.js';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import { GroupService } from '@gateway/proto/admin/v1/group_service_pb.js';
import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { beforeAll, describe, expect, it } from 'vitest';
import { type AdminAnswer, callAdmin } from '../client/admin-call.ts';
import { adminMethods, nameOf, requestsOf, type TextFor, textFieldsOf } from '../client/admin-methods.ts';
import { chat } from '../client/chat.ts';
import { adminClient } from '../client/operator.ts';
import { issueToken } from '../client/tokens.ts';
import type { SecretSettings } from '../topologies/secret-settings.ts';
import type { Topology } from '../topologies/topology.ts';

/** Calls whose answers contain a new secret, once. */
const newSecretOf: Readonly<Record<string, string>> = {
  'TokenService.IssueToken': 'tokenText',
  'TokenService.RotateToken': 'tokenText',
  'OperatorService.CreateOperator': 'token',
  'OperatorService.RotateOperatorToken': 'token',
};

const roles = { VIEWER: Role.VIEWER, OPERATOR: Role.OPERATOR, ADMIN: Role.ADMIN } as const;

type Walker = keyof typeof roles | 'HOLDER';

/** Some calls that each caller may not make. The holder has a client's token. */
const refused: Readonly<Record<Walker, readonly string[]>> = {
  HOLDER: ['TokenService.ListTokens', 'ConfigurationService.GetConfiguration'],
  VIEWER: ['ConfigurationService.CheckConfiguration', 'TokenService.IssueToken'],
  OPERATOR: ['ConfigurationService.CheckConfiguration', 'AuditService.ListAudit'],
  // No person has signed in here, and only people have tokens of their own.
  ADMIN: [
    'MyTokenService.ListMyTokens',
    'MyTokenService.IssueMyToken',
    'MyTokenService.RotateMyToken',
    'MyTokenService.RevokeMyToken',
    'PersonService.SetPersonDisabled',
    'UsageService.GetMyUsage',
  ],
};

/**
 * Every call of the operators' API, as each role, with inputs that could reveal a secret. @param
 * logs the whole log.
 */
export function operatorsLearnNoSecret(
  gateway: () => Topology,
  settings: () => SecretSettings,
  logs: () => string,
): void {
  describe('an operator', () => {
    const seen: string[] = [];
    const ofDatabase: string[] = [];
    let methods: readonly DescMethod[] = [];
    let scene: Scene | undefined;

    beforeAll(async () => {
      methods = await adminMethods();
      scene = await sceneOf(gateway(), ofDatabase);
      ofDatabase.push(gateway().adminToken);
    });

    const call = async (method: DescMethod, message: object, token: string): Promise<AdminAnswer> => {
      const answer = await callAdmin(gateway().adminUrl, method, message, token);
      const member = newSecretOf[nameOf(method)];
      const shown = member === undefined ? undefined : new RegExp(`"${member}":"([^"]+)"`).exec(answer.body)?.[1];
      if (shown !== undefined) ofDatabase.push(shown);
      for (const cookie of answer.headers.getSetCookie()) ofDatabase.push(/=([^;]*)/.exec(cookie)?.[1] ?? '');
      const ofThisAnswer = [shown ?? '', ...answer.headers.getSetCookie()];
      seen.push(
        `${nameOf(method)}: ${ofThisAnswer.filter(Boolean).reduce((text, part) => text.replaceAll(part, ''), answer.text)}`,
      );
      return answer;
    };
    const known = () => scene ?? expect.fail();
    const isSignIn = (method: DescMethod) => nameOf(method).startsWith('SessionService.SignIn');

    it.each(Object.keys(refused) as Walker[])(
      'a caller with the role %s may call the methods of that role',
      async (role) => {
        const token = known().tokens[role];
        const answered = new Set<string>();
        for (const method of methods.filter((each) => !isSignIn(each))) {
          const things = await thingsToChange(gateway(), ofDatabase);
          for (const message of requestsOf(method, plausible({ ...known(), ...things }, ofDatabase))) {
            const { code } = await call(method, acceptable(method, message), token);
            if (code === '') answered.add(nameOf(method));
          }
        }
        const left = methods.filter((method) => !isSignIn(method) && !answered.has(nameOf(method))).map(nameOf);
        expect(left).toEqual(expect.arrayContaining([...refused[role]]));
        // The admin's calls succeed: there is an object for every method.
        if (role === 'ADMIN') expect(left).toEqual(refused[role]);
      },
    );

    it('has no text looked up that it sends, whatever its role and wherever it puts it', async () => {
      const { references, files } = hostileTexts(settings().names, await runningFile(gateway()));
      for (const token of Object.values(known().tokens)) {
        for (const method of methods.filter((each) => !isSignIn(each) && textFieldsOf(each).length > 0)) {
          const isOfFile = textFieldsOf(method).includes('text');
          for (const text of isOfFile ? [...references, ...files] : references) {
            for (const message of requestsOf(method, () => text)) await call(method, message, token);
          }
        }
      }
      expect(seen.length).toBeGreaterThan(500);
    });

    it('has no longer text read than 64 KiB, in any field', async () => {
      for (const method of methods.filter((each) => !isSignIn(each))) {
        for (const path of textFieldsOf(method)) {
          const long: TextFor = (_, each) => (each === path ? 'x'.repeat(65_537) : '');
          const codes = await Promise.all(
            requestsOf(method, long)
              .filter((message) => JSON.stringify(message).length > 65_537)
              .map(
                async (message) => (await callAdmin(gateway().adminUrl, method, message, known().tokens.ADMIN)).code,
              ),
          );
          // An admin may not even try the calls of people.
          const code = method.parent.name === 'MyTokenService' ? 'permission_denied' : 'invalid_argument';
          expect([nameOf(method), path, ...new Set(codes)]).toEqual([nameOf(method), path, code]);
        }
      }
    });

    it('has no guess of a secret of the running file confirmed', async () => {
      const configuration = adminClient(ConfigurationService, gateway());
      const { file } = await configuration.getConfiguration({});
      const guesses = [...settings().secrets, 'sk-guess'];
      const answers = await Promise.all(
        guesses.map(async (guess) => {
          const text = (file?.text ?? '').replaceAll('"[redacted]"', `"${guess}"`).replaceAll('[redacted]', guess);
          const { problems, changes } = await configuration.checkConfiguration({ text });
          return JSON.stringify({ problems, changes }).replaceAll(guess, '…');
        }),
      );
      expect(answers[0]).toContain('may be another secret');
      expect([...new Set(answers)]).toHaveLength(1);
    });

    it('finds no secret in any answer, error, setting, figure, row of the audit log, or log line', async () => {
      for (const method of methods.filter(isSignIn)) {
        for (const token of [known().tokens.VIEWER, `\${ACCOUNT_KEYS}`]) {
          for (const message of requestsOf(method, () => token)) await call(method, message, '');
        }
      }
      for (const path of ['/metrics', '/export/requests', '/export/usage?first_day=2026-01-01&last_day=2026-01-31']) {
        const headers = { authorization: `Bearer ${known().tokens.VIEWER}` };
        seen.push(await (await fetch(`${gateway().adminUrl}${path}`, { headers })).text());
      }
      const audit = adminClient(AuditService, gateway());
      for (let pageToken = '', isFirst = true; isFirst || pageToken !== ''; isFirst = false) {
        const page = await audit.listAudit({ pageSize: 1_000, pageToken });
        seen.push(`audit: ${toJsonString(ListAuditResponseSchema, page)}`);
        pageToken = page.nextPageToken;
      }
      const secrets = [...settings().secrets, ...ofDatabase].filter(Boolean);
      expect(secrets.length).toBeGreaterThan(30);
      const found = [...seen, ...logs().split('\n')].flatMap((text) =>
        secrets.filter((secret) => text.includes(secret)).map((secret) => text.slice(0, 80) + secret),
      );
      expect(found).toEqual([]);
      expect(seen.join('\n')).toContain('configuration.check');
    });
  });
}

interface Scene {
  readonly tokens: Readonly<Record<Walker, string>>;
  readonly requestId: string;
}

/** An operator of each role, an answered request, and the secrets that are then in the database. */
async function sceneOf(gateway: Topology, ofDatabase: string[]): Promise<Scene> {
  const operators = adminClient(OperatorService, gateway);
  const made = async (role: keyof typeof roles) => {
    const { token } = await operators.createOperator({ name: `walker-${role}`, role: roles[role] });
    ofDatabase.push(token);
    return token;
  };
  const { text } = await issueToken(gateway);
  ofDatabase.push(text);
  const [VIEWER, OPERATOR, ADMIN] = [await made('VIEWER'), await made('OPERATOR'), await made('ADMIN')];
  const { headers } = await chat(gateway, text, { model: 'gateway/sterk' });
  return { tokens: { HOLDER: text, VIEWER, OPERATOR, ADMIN }, requestId: headers.get('x-request-id') ?? '' };
}

/** Objects that one call changes, ends and removes. */
async function thingsToChange(gateway: Topology, ofDatabase: string[]) {
  const name = `walked-${randomBytes(6).toString('hex')}`;
  const { tokenId, text } = await issueToken(gateway);
  const { operator, token } = await adminClient(OperatorService, gateway).createOperator({ name, role: Role.VIEWER });
  const credential = { case: 'bearer' as const, value: `account-${randomBytes(24).toString('hex')}` };
  ofDatabase.push(text, token, credential.value);
  const accounts = adminClient(AccountService, gateway);
  const { account } = await accounts.addAccount({ account: { pool: 'responses', name }, credential: { credential } });
  const { group } = await adminClient(GroupService, gateway).createGroup({ name });
  const things = { tokenId, operatorId: operator?.operatorId ?? '', accountId: account?.id ?? '' };
  return { ...things, groupId: group?.groupId ?? '' };
}

type Things = Awaited<ReturnType<typeof thingsToChange>>;

/** A plausible value for a field of that name. */
function plausible(things: Things & Scene, ofDatabase: string[]): TextFor {
  const today = new Date().toISOString().slice(0, 10);
  const fixed: Readonly<Record<string, string>> = {
    ...{ tokenId: things.tokenId, tokenIds: things.tokenId, token: things.tokenId, accountId: things.accountId },
    ...{ operatorId: things.operatorId, requestId: things.requestId, firstDay: today, lastDay: today, localDay: today },
    ...{
      groupId: things.groupId,
      group: things.groupId,
      accountIds: things.accountId,
      labels: 'team-a',
      accountLabels: 'team-a',
    },
    ...{ pool: 'responses', models: 'gpt-*', model: 'gpt-5.5', tokenUrl: 'https://127.0.0.1:1/token', pageToken: '' },
    ...{ receiver: 'ops', tokenText: things.tokens.HOLDER },
    ...{ text: 'pools: { p: { format: responses, owned_by: o, base_url: "http://x" } }' },
  };
  return ({ localName }) => {
    const known = fixed[localName];
    if (known !== undefined) return known;
    const made = `made-${randomBytes(24).toString('hex')}`;
    if (['bearer', 'apiKey', 'clientSecret', 'refreshToken'].includes(localName)) ofDatabase.push(made);
    return made;
  };
}

/** Without fields that a method refuses beside others: budgets of tokens, and a second filter. */
function acceptable(method: DescMethod, message: object): object {
  const isOfTokens = method.parent.name === 'TokenService';
  const fields = Object.entries(message).filter(([name]) => name !== 'groupId' || method.name !== 'ReportUsage');
  return Object.fromEntries(
    fields.map(([name, value]) => [name, isOfTokens && name === 'limits' ? { ...value, budget: undefined } : value]),
  );
}

/**
 * References to all objects of the gateway, alone and in texts of a gateway.yaml, where error
 * messages would quote them.
 */
function hostileTexts(names: readonly string[], running: string) {
  const all = names.map((name) => `\${${name}}`);
  const settings = 'settings: { error_cooldown_seconds: "%", error_cooldown_max_seconds: "" }';
  const account = '{ pool: "%", name: "%", credential: { bearer: "%" } }';
  const pools = 'pools: { responses: { format: "%", owned_by: "two %", base_url: "%" } }';
  const classes = 'classes: { a: { name: "%", effort: "%", candidates: ["%", "x/%"] } }';
  const shapes = [
    settings,
    `accounts: [${account}, ${account}]`,
    pools,
    classes,
    `${pools}\nprices: { currency: "%" }`,
  ];
  const files = [
    ...shapes.flatMap((shape) => [all[0], all.at(-1)].map((reference = '') => shape.replaceAll('%', reference))),
    ...all.map((reference) => `${running}\nsettings: { error_cooldown_seconds: "${reference}" }`),
  ];
  return { references: [...all, all.join(',')], files };
}

async function runningFile(gateway: Topology): Promise<string> {
  const { file } = await adminClient(ConfigurationService, gateway).getConfiguration({});
  return file?.text ?? '';
}
