import type { ProcessControl } from '@gateway/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { contractCases } from '../contract/cases.ts';
import { isBeforeProviders, specCells } from '../contract/cells.ts';
import { checkAnswer } from '../contract/check-answer.ts';
import type { ContractCase } from '../contract/contract-case.ts';
import { authHeaders, endpoints, post } from '../contract/endpoints.ts';
import { Matrix } from '../contract/matrix.ts';
import { OpenApiDocument } from '../contract/openapi-document.ts';
import { FreshAccounts, Scene } from '../contract/scene.ts';
import { send } from '../contract/send.ts';
import type { Topology } from '../topologies/topology.ts';

const document = OpenApiDocument.read();
const title = ({ route, cell, way }: ContractCase) => `${route}: ${cell}${way === '' ? '' : ` (${way})`}`;

/**
 * Every route × every answer of the specification's tables: status, headers, shape, and the absence
 * of anything else, by docs/openapi.yaml. Also that the gateway asks no provider if it refuses a
 * request by itself. Prints the table.
 * @see spec "Errors", "Endpoints"
 */
export function contractBehaviour(gateway: () => Topology): void {
  describe('the contract', () => {
    const accounts = new FreshAccounts();
    const matrix = () => matrixOf(gateway());
    afterAll(() => print(gateway()));

    it.each(contractCases.map((contractCase) => [title(contractCase), contractCase] as const))(
      '%s',
      async (_, contractCase) => {
        matrix().try(contractCase.route, contractCase.cell);
        for (const kind of contractCase.tokens) {
          await using scene = await Scene.open(gateway(), kind, accounts);
          const request = await contractCase.prepare(scene);
          const before = lastAsked(gateway());
          const answer = await send(gateway(), request);
          checkAnswer(contractCase, kind, answer, document);
          if (isBeforeProviders(contractCase.cell)) expect(lastAsked(gateway())).toEqual(before);
        }
        matrix().hold(contractCase.route, contractCase.cell);
      },
    );

    it('has no empty cell that the specification fills, but faults of the gateway itself', () => {
      expect(
        matrix()
          .empty()
          .filter((cell) => !cell.endsWith(': internal_error')),
      ).toEqual([]);
    });
  });
}

/**
 * The cells that need a missing part of the gateway: a token that no cache knows, while `part`,
 * which looks it up, does not run.
 */
export function internalErrorContract<T extends Topology>(
  gateway: () => T,
  part: (gateway: T) => ProcessControl,
): void {
  describe('the contract while a part of the gateway is away', () => {
    afterAll(() => print(gateway()));

    it.each(Object.keys(specCells).filter((route) => specCells[route]?.includes('internal_error')))(
      '%s: internal_error',
      async (route) => {
        matrixOf(gateway()).try(route, 'internal_error');
        const { text: token } = await issueToken(gateway(), { requestsPerMinute: 100, tokensPerDay: 1_000_000 });
        const away = part(gateway());
        await away.kill();
        try {
          const answer = await send(gateway(), requestTo(route, token));
          const internalError = { route, cell: 'internal_error', way: '', tokens: [] } as const;
          const contractCase = { ...internalError, prepare: () => requestTo(route, token) };
          checkAnswer(contractCase, 'personal', answer, document);
          matrixOf(gateway()).hold(route, 'internal_error');
        } finally {
          await away.restart();
        }
      },
    );
  });
}

const matrices = new WeakMap<Topology, Matrix>();

function matrixOf(gateway: Topology): Matrix {
  const matrix = matrices.get(gateway) ?? new Matrix();
  matrices.set(gateway, matrix);
  return matrix;
}

function print(gateway: Topology): void {
  process.stdout.write(`\nThe contract of the gateway "${gateway.name}"\n${matrixOf(gateway)}\n`);
}

/** The newest request for an answer or a count at the simulated providers. */
function lastAsked({ simulator }: Topology) {
  const paths = new Set(Object.values(endpoints).map(({ upstreamPath }) => upstreamPath));
  return [...paths].map((path) => simulator.requests({ path, limit: 1 }).at(-1)?.id);
}

function requestTo(route: string, token: string) {
  const endpoint = Object.values(endpoints).find(({ path }) => route === `POST ${path}`);
  if (endpoint !== undefined) return post(endpoint, token, endpoint.body(endpoint.model, 'hello'));
  const path = route.replace('GET ', '');
  return { method: 'GET', path, headers: authHeaders('authorization', token) };
}
