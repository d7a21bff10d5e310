import type { MessageInitShape } from '@bufbuild/protobuf';
import { Code, ConnectError, type ServiceImpl } from '@connectrpc/connect';
import { type OperatorSchema, type OperatorService, Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { createTokenText } from '@gateway/tokens';
import { isOperatorName } from '../access/operator-names.ts';
import type { NotChanged, Operator, OperatorStore } from '../access/operators.ts';
import { roleNameOf, rolesByName } from '../access/role-names.ts';
import type { AdminParts } from '../parts.ts';
import { changedMeanwhile, type FieldProblems, invalidFields, notFound } from './problems.ts';

/** The operators of the admin service. */
export function operatorService(
  { audit }: Pick<AdminParts, 'audit'>,
  operators: OperatorStore,
): ServiceImpl<typeof OperatorService> {
  return {
    async listOperators() {
      const all = await operators.list();
      return { operators: all.map(toOperatorMessage) };
    },

    async createOperator(request, context) {
      const name = request.name.trim();
      const role = roleNameOf(request.role);
      const problems: FieldProblems = {
        ...(!isOperatorName(name) && { name: 'Enter a name of 1 to 100 characters, without control characters.' }),
        ...(role === undefined && { role: 'Choose viewer, operator or admin.' }),
      };
      if (role === undefined || Object.keys(problems).length > 0) throw invalidFields(problems);
      const all = await operators.list();
      if (all.some((operator) => operator.name === name)) throw nameTaken();
      const token = createTokenText('operator');
      return await audit.change(context, { action: 'operator.create', subject: name }, async () => {
        const operator = await operators.add(name, role, token);
        if (operator === undefined) throw nameTaken();
        return { answer: { operator: toOperatorMessage(operator), token }, after: { role } };
      });
    },

    async updateOperator({ operatorId, role, disabled, expectedRevision }, context) {
      const known = await operatorOf(operatorId);
      const roleName = roleNameOf(role);
      if (role !== Role.UNSPECIFIED && roleName === undefined) {
        throw invalidFields({ role: 'Choose viewer, operator or admin.' });
      }
      const action = disabled === undefined ? 'operator.update' : disabled ? 'operator.disable' : 'operator.enable';
      const change = { action, subject: known.name, before: toAudited(known) };
      return await audit.change(context, change, async () => {
        const operator = made(
          await operators.update(operatorId, { role: roleName, disabled }, expectedRevision),
          known.name,
        );
        return { answer: { operator: toOperatorMessage(operator) }, after: toAudited(operator) };
      });
    },

    async rotateOperatorToken({ operatorId, expectedRevision }, context) {
      const known = await operatorOf(operatorId);
      const token = createTokenText('operator');
      return await audit.change(context, { action: 'operator.rotate', subject: known.name }, async () => {
        const operator = made(await operators.rotate(operatorId, token, expectedRevision), known.name);
        return { answer: { operator: toOperatorMessage(operator), token } };
      });
    },
  };

  async function operatorOf(operatorId: string): Promise<Operator> {
    const operator = await operators.find(operatorId);
    if (operator === undefined) throw notFound(`operator with the id "${operatorId}"`);
    return operator;
  }
}

export function toOperatorMessage(operator: Operator): MessageInitShape<typeof OperatorSchema> {
  const { last_seen_at_ms, disabled_at_ms } = operator;
  return {
    operatorId: operator.operator_id,
    name: operator.name,
    role: rolesByName[operator.role],
    oidcSubject: operator.oidc_subject ?? '',
    createdAtMs: operator.created_at_ms,
    lastSeenAtMs: last_seen_at_ms ?? undefined,
    disabledAtMs: disabled_at_ms ?? undefined,
    revision: operator.revision,
  };
}

function nameTaken(): ConnectError {
  return invalidFields({ name: 'An operator with this name already exists. Choose another name.' });
}

function toAudited({ role, disabled_at_ms }: Operator) {
  return { role, disabled: disabled_at_ms !== null };
}

/** The changed operator. @throws ConnectError that says why the change was not made */
function made(changed: Operator | NotChanged, name: string): Operator {
  switch (changed) {
    case 'missing':
      throw notFound(`operator "${name}"`);
    case 'conflict':
      throw changedMeanwhile(`The operator "${name}"`);
    case 'last_admin':
      throw new ConnectError(
        `${name} is the only admin. Give another operator the admin role first.`,
        Code.FailedPrecondition,
      );
    case 'by_groups':
      throw new ConnectError(
        `${name} signs in with OpenID Connect: groups of the identity provider set the role, and there is no token. You can only disable the operator here.`,
        Code.FailedPrecondition,
      );
    default:
      return changed;
  }
}
