import { type Checker, type Evidence, isAnswered, staleAnswers, trustedMs } from './evidence.ts';

/**
 * While identity does not answer, edges use what they know (docs/operate/outages.md): each such use
 * may explain one request.
 */
export const tokenChanges: Checker = {
  promise: 'a token that was replaced or revoked admits no request, and the new one admits them',
  check(evidence: Evidence) {
    const { requests, endedTexts } = evidence;
    const endedAtMs = new Map(endedTexts.map(({ text, atMs }) => [text, atMs]));
    const late = requests.filter(
      (request) =>
        isAnswered(request) &&
        request.sentAtMs > (endedAtMs.get(request.text) ?? Number.POSITIVE_INFINITY) + trustedMs &&
        staleAnswers(evidence, request.sentAtMs, request.headAtMs ?? request.sentAtMs) === 0,
    );
    const refused = requests.filter(({ text, status }) => status === 401 && !endedAtMs.has(text));
    return [
      ...late.map(({ marker, sentAtMs }) => `${marker} at ${sentAtMs} is answered with a replaced text`),
      ...refused.map(({ marker, sentAtMs }) => `${marker} at ${sentAtMs} is refused with a valid text`),
    ];
  },
};
