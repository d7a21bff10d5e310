import type { GatewayErrorCode } from '@gateway/errors';
import { describe, expect, it } from 'vitest';

/** A chat request and its translation for the provider. */
export interface RequestCase<ProviderRequest = object> {
  /** What the case shows: "an image by data URL". */
  readonly name: string;
  /** The client's body without `model`, which the lease determines. */
  readonly request: object;
  /** The provider's model; the suite's own when absent. */
  readonly model?: string | undefined;
  /** The default effort of the class. Absent: none. */
  readonly defaultEffort?: string | undefined;
  /** Absent: the request belongs to no session. */
  readonly affinityKey?: string | undefined;
  /** All members of the provider's request except the suite's fixed ones, or why there is none. */
  readonly becomes: ProviderRequest | RefusedRequest;
}

/** Nothing is sent: the client receives this error. */
export interface RefusedRequest {
  readonly refused: Extract<GatewayErrorCode, 'invalid_request' | 'unsupported_content'>;
  /** The field that the message names. */
  readonly field: string;
}

export interface GoldenRequestSuite<ProviderRequest = object> {
  readonly cases: readonly RequestCase<ProviderRequest>[];
  /** The provider's request as the adapter writes it: JSON. Throws GatewayError. */
  readonly translate: (request: RequestCase<ProviderRequest>) => string;
  /** Members that every request of the suite has. */
  readonly fixed: (request: RequestCase<ProviderRequest>) => object;
}

/**
 * Tests that every case is translated as expected, member by member, or refused before anything is
 * sent.
 */
export function describeGoldenRequests<ProviderRequest>(suite: GoldenRequestSuite<ProviderRequest>): void {
  describe('a chat request', () => {
    it.each(suite.cases.map((request) => [request.name, request] as const))('with %s', (_name, request) => {
      const { becomes } = request;
      if (isRefusal(becomes)) {
        expect(() => suite.translate(request)).toThrow(
          expect.objectContaining({ code: becomes.refused, message: expect.stringContaining(becomes.field) }),
        );
      } else {
        expect(JSON.parse(suite.translate(request))).toStrictEqual({ ...suite.fixed(request), ...becomes });
      }
    });
  });
}

export function isRefusal(becomes: unknown): becomes is RefusedRequest {
  return typeof becomes === 'object' && becomes !== null && 'refused' in becomes;
}
