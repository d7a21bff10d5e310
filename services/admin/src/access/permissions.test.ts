import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { DescService } from '@bufbuild/protobuf';
import { createContextValues } from '@connectrpc/connect';
import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { AccessGate } from './access-gate.ts';
import type { Caller } from './caller.ts';
import { mayCall, type Permission, permissionOf } from './permissions.ts';
import type { Refusal } from './refusals.ts';
import { roleNameOf } from './role-names.ts';

const folder = fileURLToPath(import.meta.resolve('@gateway/proto/admin/v1/operator_service_pb.js')).replace(
  /[^/]*$/,
  '',
);
const files = readdirSync(folder).filter((file) => file.endsWith('_service_pb.js'));
const modules: readonly Readonly<Record<string, unknown>>[] = await Promise.all(
  files.map((file) => import(`${folder}${file}`)),
);
const services = modules.flatMap((module) => Object.values(module)).filter(isService);
const methods = services.flatMap((service) => service.methods);

const operator = (role: Role): Caller => ({ kind: 'operator', operatorId: 'id', name: 'someone', role, address: '' });
const person = { kind: 'person', person: { email: 'dana@acme.test' }, address: '' } as Caller;
const holder = { kind: 'token', token: { label: 'team-x' }, address: '' } as Caller;

const whoIs = {
  operator: 'You are someone (',
  token: 'the token team-x of a client. ',
  person: 'You are dana@acme.test (no role). ',
} as const;
const roleOf = (permission: Permission) => roleNameOf(permission as Role);

describe('the permissions', () => {
  it('name every method of every service of operators', () => {
    expect(services.length).toBeGreaterThanOrEqual(10);
    expect(methods.filter((method) => permissionOf(method) === undefined).map(String)).toEqual([]);
  });

  it('allow each role its own methods', () => {
    const namesFor = (caller: Caller, without: Caller | undefined) =>
      methods
        .filter((method) => mayCall(caller, permissionOf(method) ?? 'open'))
        .filter((method) => without === undefined || !mayCall(without, permissionOf(method) ?? 'open'))
        .map((method) => `${method.parent.name}.${method.name}`)
        .sort();
    expect(methods.filter((method) => permissionOf(method) === 'open').map(({ name }) => name)).toEqual([
      'GetSignInOptions',
      'SignIn',
    ]);
    expect(namesFor(holder, undefined)).toEqual([
      'PlaygroundService.Relay',
      'SessionService.GetSession',
      'SessionService.GetSignInOptions',
      'SessionService.SignIn',
      'SessionService.SignOut',
      'UsageService.GetMyUsage',
    ]);
    expect(namesFor(person, holder)).toEqual([
      'MyTokenService.IssueMyToken',
      'MyTokenService.ListMyTokens',
      'MyTokenService.RevokeMyToken',
      'MyTokenService.RotateMyToken',
    ]);
    expect(namesFor(holder, person)).toEqual([]);
    // Tokens of people are not even for admins.
    expect(methods.filter((method) => permissionOf(method) === 'person')).toHaveLength(4);
    expect(mayCall(operator(Role.ADMIN), 'person')).toBe(false);
    expect(namesFor(operator(Role.OPERATOR), operator(Role.VIEWER))).toEqual([
      'AccountService.AddAccount',
      'AccountService.ProbeAccounts',
      'AccountService.RemoveAccount',
      'AccountService.ReplaceCredential',
      'AccountService.SetAccountLabels',
      'AccountService.SetAccountState',
      'GroupService.CreateGroup',
      'GroupService.DeleteGroup',
      'GroupService.UpdateGroup',
      'PersonService.EndSessions',
      'PersonService.SetPersonDisabled',
      'TokenService.IssueToken',
      'TokenService.RevokeToken',
      'TokenService.RotateToken',
      'TokenService.UpdateToken',
      'UsageService.ReconcileDay',
      'UsageService.ReplayDeadLetters',
    ]);
    expect(namesFor(operator(Role.ADMIN), operator(Role.OPERATOR))).toEqual([
      'AlertService.TestAlert',
      'AuditService.ListAudit',
      'ConfigurationService.CheckConfiguration',
      'OperatorService.CreateOperator',
      'OperatorService.ListOperators',
      'OperatorService.RotateOperatorToken',
      'OperatorService.UpdateOperator',
    ]);
  });

  it.each(methods.map((method) => [`${method.parent.name}.${method.name}`, method] as const))(
    'are what a call of %s is let through by, and a refusal is noted',
    async (name, method) => {
      const permission = permissionOf(method) ?? 'open';
      for (const caller of [operator(Role.VIEWER), operator(Role.OPERATOR), operator(Role.ADMIN), holder, person]) {
        const noted: Refusal[] = [];
        const gate = new AccessGate({
          signIn: { byToken: async () => caller },
          refusals: { note: async (refusal: Refusal) => void noted.push(refusal) },
        } as unknown as ConstructorParameters<typeof AccessGate>[0]);
        const requestHeader = new Headers({ authorization: 'Bearer x' });
        const { signal } = new AbortController();
        const call = gate.check({ method, requestHeader, signal, values: createContextValues() });
        if (mayCall(caller, permission)) await call;
        else {
          await expect(call).rejects.toThrow(whoIs[caller.kind]);
          const need =
            permission === 'person' ? 'is for people who have no role' : `needs the role ${roleOf(permission)}`;
          await expect(call).rejects.toThrow(`${name} ${need}.`);
          expect(noted).toMatchObject([{ reason: 'role', subject: name }]);
        }
      }
    },
  );
});

function isService(value: unknown): value is DescService {
  return typeof value === 'object' && value !== null && 'kind' in value && value.kind === 'service';
}
