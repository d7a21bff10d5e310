import { OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { describe, expect, it } from 'vitest';
import { CommandLine } from '../__fixtures__/command-line.ts';

const operators = [
  { operatorId: 'aa11', name: 'eva', role: Role.ADMIN, revision: 4 },
  { operatorId: 'aa22', name: 'bob', role: Role.VIEWER, disabledAtMs: 0 },
];

describe('gatewayctl operator', () => {
  function commandLine() {
    const asked: unknown[] = [];
    const remember =
      <T>(answer: T) =>
      (request: unknown) => {
        asked.push(request);
        return answer;
      };
    const line = new CommandLine((router) =>
      router.service(OperatorService, {
        listOperators: () => ({ operators }),
        createOperator: remember({ operator: operators[0], token: 'gw_a_new' }),
        updateOperator: remember({}),
        rotateOperatorToken: remember({ token: 'gw_a_other' }),
      }),
    );
    return { line, asked };
  }

  it('lists operators', async () => {
    const { lines } = await commandLine().line.run('operator', 'list');
    expect(lines[1]).toMatch(/^eva +admin +token +never +enabled +aa11$/);
    expect(lines[2]).toMatch(/^bob +viewer .* disabled +aa22$/);
  });

  it('prints tokens once, and nothing else on standard output', async () => {
    const { line, asked } = commandLine();
    expect((await line.run('operator', 'create', 'eva', 'admin')).printed).toBe('gw_a_new\n');
    expect((await line.run('operator', 'rotate-token', 'eva')).printed).toBe('gw_a_other\n');
    expect(asked).toMatchObject([
      { name: 'eva', role: Role.ADMIN },
      { operatorId: 'aa11', expectedRevision: 4 },
    ]);
    expect(await line.run('operator', 'create', 'eva', 'king')).toMatchObject({ exitCode: 2 });
  });

  it('changes one operator, of the revision that it has seen', async () => {
    const { line, asked } = commandLine();
    await line.run('operator', 'set-role', 'eva', 'viewer');
    await line.run('operator', 'disable', 'aa2');
    await line.run('operator', 'enable', 'bob');
    expect(asked).toMatchObject([
      { operatorId: 'aa11', role: Role.VIEWER, expectedRevision: 4 },
      { operatorId: 'aa22', disabled: true },
      { operatorId: 'aa22', disabled: false },
    ]);
    expect(await line.run('operator', 'disable', 'aa')).toMatchObject({ exitCode: 2 });
    expect(await line.run('operator', 'disable', 'nobody')).toMatchObject({ exitCode: 1 });
  });
});
