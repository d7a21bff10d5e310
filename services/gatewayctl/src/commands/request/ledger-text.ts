import { timestampDate } from '@bufbuild/protobuf/wkt';
import { Outcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { enumWord } from '../../output/enum-word.ts';
import { formatTable } from '../../output/table.ts';
import { tokensText } from './tokens-text.ts';

/** What the ledger has of a request, which is less than the log had. */
export function ledgerText(request: UsageRecorded): string {
  const { requestId, admittedAt, tokenId, endpoint, provider, model, outcome, localDay } = request;
  const admitted = admittedAt === undefined ? 'unknown' : timestampDate(admittedAt).toISOString();
  return formatTable(
    ['request', requestId],
    [
      ['admitted', `${admitted} (counted to ${localDay})`],
      ['token', tokenId],
      ['endpoint', endpoint],
      ['model', provider === '' ? 'no provider answered' : `${model} of ${provider}`],
      ['outcome', enumWord(Outcome, outcome)],
      ['tokens', tokensText(request)],
    ],
  );
}
