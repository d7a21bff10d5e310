import { create } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { InvalidFieldsSchema } from '@gateway/proto/admin/v1/invalid_fields_pb.js';
import {
  type Operator,
  OperatorSchema,
  type OperatorService,
  Role,
} from '@gateway/proto/admin/v1/operator_service_pb.js';

const hourMs = 3_600_000;

export const operators: Operator[] = [
  operator('maud', Role.ADMIN, { seenHoursAgo: 0.02 }),
  operator('jeroen', Role.OPERATOR, { seenHoursAgo: 3 }),
  operator('grafana', Role.VIEWER, { seenHoursAgo: 0.3 }),
  operator('s.ozturk@example.nl', Role.OPERATOR, { seenHoursAgo: 26, oidcSubject: 'b1c6e1f0-9a0e-4a1f-8c29-6b7a2b6f' }),
  operator('pieter', Role.ADMIN, { seenHoursAgo: 2400, disabled: true }),
];

export const operatorService: Partial<ServiceImpl<typeof OperatorService>> = {
  listOperators: () => ({ operators: operators.toSorted((one, other) => one.name.localeCompare(other.name)) }),
  createOperator({ name, role }) {
    if (name.trim() === '') throw invalid('name', 'Give a name of 1 to 100 characters.');
    if (operators.some((each) => each.name === name))
      throw invalid('name', `There is an operator ${name} already. Choose another name.`);
    const made = operator(name, role, {});
    operators.push(made);
    return { operator: made, token: madeUpToken() };
  },
  updateOperator({ operatorId, role, disabled, expectedRevision }) {
    const found = find(operatorId);
    if (found.name === 'jeroen' && expectedRevision === 0 + found.revision && found.role === Role.OPERATOR) {
      // Another operator is faster, once.
      Object.assign(found, { role: Role.VIEWER, revision: found.revision + 1 });
    }
    if (found.revision !== expectedRevision) {
      throw new ConnectError(
        `The operator ${found.name} was changed meanwhile. Review the current state before you change it.`,
        Code.Aborted,
      );
    }
    if (
      found.role === Role.ADMIN &&
      operators.filter((each) => each.role === Role.ADMIN && !each.disabledAtMs).length === 1
    ) {
      throw new ConnectError(
        'The last admin stays one. Make another operator an admin first.',
        Code.FailedPrecondition,
      );
    }
    if (role !== Role.UNSPECIFIED) found.role = role;
    if (disabled !== undefined) found.disabledAtMs = disabled ? Date.now() : undefined;
    found.revision += 1;
    return { operator: found };
  },
  rotateOperatorToken: ({ operatorId }) => ({ operator: find(operatorId), token: madeUpToken() }),
};

interface Details {
  readonly seenHoursAgo?: number;
  readonly oidcSubject?: string;
  readonly disabled?: boolean;
}

function operator(name: string, role: Role, { seenHoursAgo, oidcSubject = '', disabled = false }: Details): Operator {
  return create(OperatorSchema, {
    operatorId: crypto.randomUUID(),
    name,
    role,
    oidcSubject,
    createdAtMs: Date.now() - 5000 * hourMs,
    lastSeenAtMs: seenHoursAgo === undefined ? undefined : Date.now() - seenHoursAgo * hourMs,
    disabledAtMs: disabled ? Date.now() - 400 * hourMs : undefined,
  });
}

function find(operatorId: string): Operator {
  const found = operators.find((each) => each.operatorId === operatorId);
  if (found === undefined) throw new ConnectError('There is no such operator.', Code.NotFound);
  return found;
}

function madeUpToken(): string {
  return `gw_a_${crypto.randomUUID().replaceAll('-', '')}Qx7`;
}

export function invalid(field: string, text: string): ConnectError {
  return new ConnectError(`${field}: ${text}`, Code.InvalidArgument, undefined, [
    { desc: InvalidFieldsSchema, value: { fields: [{ field, text }] } },
  ]);
}
