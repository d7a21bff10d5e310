import type { ProcessControl } from '@gateway/testkit';
import { afterAll, describe, expect, it } from 'vitest';
import { issueToken } from '../client/tokens.ts';
import { contractCases } from '../contract/cases.ts';
import { isBeforeProviders, needsFault, specCells } from '../contract/cells.ts';
import { checkAnswer, whilePartIsAway } from '../contract/check-answer.ts';
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
          .filter((cell) => !needsFault(cell)),
      ).toEqual([]);
    });
  });
}

/**
 * What is answered while a part of the gateway is missing: a token that no cache knows, while
 * `part`, which looks it up, does not run.
 */
export function missingPartContract<T extends Topology>(gateway: () => T, part: (gateway: T) => ProcessControl): void {
  describe('the contract while a part of the gateway is away', () => {
    afterAll(() => print(gateway()));

    const unavailable = ['providers_unavailable', 'subscription_unavailable', 'too_busy'] as const;
    const away = Object.entries(specCells).flatMap(([route, names]) => {
      const cell = unavailable.find((each) => names.includes(each));
      return cell === undefined ? [] : [{ route, cell }];
    });
    it.each(away)('$route: $cell', async ({ route, cell }) => {
      matrixOf(gateway()).try(route, cell);
      const { text: token } = await issueToken(gateway(), { requestsPerMinute: 100, tokensPerDay: 1_000_000 });
      const missing = part(gateway());
      await missing.kill();
      try {
        const answer = await send(gateway(), requestTo(route, token));
        const contractCase = { route, cell, way: whilePartIsAway, tokens: [], prepare: () => requestTo(route, token) };
        checkAnswer(contractCase, 'personal', answer, document);
        matrixOf(gateway()).hold(route, cell);
      } finally {
        await missing.restart();
      }
    });
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
