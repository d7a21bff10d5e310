import { useQuery } from '@connectrpc/connect-query';
import { verdictText } from '@gateway/presentation';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import type { GetRequestResponse } from '@gateway/proto/admin/v1/request_service_pb.js';
import type { RequestLogged } from '@gateway/proto/usage/v1/request_log_pb.js';
import { LedgerOutcome, type UsageRecorded } from '@gateway/proto/usage/v1/usage_recorded_pb.js';
import { useParams } from 'wouter';
import { Link } from '../../frame/link.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { formatCount, formatMoney } from '../../ui/numbers.ts';
import { Empty, NoAnswer } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { Time } from '../../ui/time.tsx';
import { usePublicAddress } from '../tokens/public-address.ts';
import { repeatAsCurl } from './repeat-as-curl.ts';
import { costOf } from './request-cost.ts';
import { RequestDecisions } from './request-decisions.tsx';
import { requestsLink } from './request-search.ts';
import { RequestWaterfall } from './request-waterfall.tsx';
import { endingOf, wording } from './request-words.ts';
import { useRequest } from './use-request.ts';
import './requests.css';

/** One request's whole way. */
export function RequestPage() {
  const { requestId = '' } = useParams();
  const { data, error, refetch } = useRequest(requestId);
  return (
    <Page title="Request" about={<Link to="/requests">All requests</Link>}>
      {data !== undefined ? (
        <Known answer={data} />
      ) : (
        <NoAnswer
          of={{ error, refetch }}
          what="the request"
          notFound={
            <Empty title={`No single request goes by “${requestId}”.`}>
              The id is in the answer's header x-request-id, and in the id of a chat completion. The log keeps requests
              for some days. <Link to={requestsLink({ id: requestId })}>Look for ids that begin so</Link>
            </Empty>
          }
        />
      )}
    </Page>
  );
}

function Known({ answer: { request: listing, recorded, loggedAt } }: { readonly answer: GetRequestResponse }) {
  const request = listing?.request;
  return (
    <>
      {request !== undefined && (
        <>
          <Summary request={request} tokenLabel={listing?.tokenLabel ?? ''} />
          <Panel title="Where the time went" wide>
            <RequestWaterfall request={request} loggedAt={loggedAt} />
          </Panel>
          <Panel title="Why it went there" wide>
            <RequestDecisions request={request} />
          </Panel>
        </>
      )}
      <div className="panels">
        <UsagePanel request={request} recorded={recorded} />
        {request !== undefined && <RepeatPanel request={request} />}
      </div>
    </>
  );
}

function Summary({ request, tokenLabel }: { readonly request: RequestLogged; readonly tokenLabel: string }) {
  const { requestId, clientRequestId, receivedAt, tokenId, endpoint, model, errorCode, moved, slow } = request;
  const { tone, text } = endingOf(request);
  const verdict = verdictText(request, wording);
  return (
    <section className="panel" aria-label="Summary">
      <p className="row ending">
        <Status tone={tone}>{text}</Status>
        {errorCode !== '' && <code>{errorCode}</code>}
        {moved && <Status tone="info">Moved to another account</Status>}
        {slow && <Status tone="warn">Slow to begin</Status>}
      </p>
      {verdict !== '' && <p className="verdict">{verdict}</p>}
      <dl className="facts">
        <Fact name="Id">
          <code>{requestId}</code> <CopyButton text={requestId} what="request id" />
        </Fact>
        {clientRequestId !== '' && (
          <Fact name="Client's own id">
            <code>{clientRequestId}</code>
          </Fact>
        )}
        <Fact name="Received">
          <Time at={receivedAt} />
        </Fact>
        <Fact name="Token">
          <Link to={`/tokens/${tokenId}`}>{tokenLabel || tokenId}</Link>
        </Fact>
        <Fact name="Asked">
          {model === '' ? 'no model, since the body was not read,' : <code>{model}</code>} at <code>{endpoint}</code>
        </Fact>
      </dl>
    </section>
  );
}

const outcomes: Readonly<Record<LedgerOutcome, string>> = {
  [LedgerOutcome.UNSPECIFIED]: 'not known',
  [LedgerOutcome.COMPLETED]: 'completed',
  [LedgerOutcome.ABORTED]: 'left by the client',
  [LedgerOutcome.FAILED]: 'failed in the middle',
  [LedgerOutcome.LOST]: 'lost with its edge; its tokens count, as a request it does not',
  [LedgerOutcome.GIVEN_UP]: 'an attempt that was given up; its tokens count, as a request it does not',
};

/** What was used and what that costs: as the ledger has it, else as the log has it. */
function UsagePanel({
  request,
  recorded,
}: {
  readonly request: RequestLogged | undefined;
  readonly recorded: UsageRecorded | undefined;
}) {
  const configuration = useQuery(ConfigurationService.method.getConfiguration, {}, { staleTime: 60_000 });
  const used = recorded ?? request?.usage;
  if (used === undefined) {
    return (
      <Panel title="Usage">
        <p className="faint">
          Nothing was recorded: no provider was asked, or the ledger keeps requests of that day no more.
        </p>
      </Panel>
    );
  }
  const { prices = [], currency = '' } = configuration.data?.file ?? {};
  const model = recorded?.model || (request?.attempts.at(-1)?.model ?? '');
  const cost = costOf(used, model, prices);
  return (
    <Panel
      title="Usage"
      aside={
        recorded === undefined
          ? 'From the log: not in the ledger yet'
          : `In the ledger, day ${recorded.localDay} (Amsterdam)`
      }
    >
      <dl className="facts">
        <Fact name="Input">
          {formatCount(used.inputTokens)} tokens
          {used.cachedTokens > 0n && `, ${formatCount(used.cachedTokens)} of them cached`}
        </Fact>
        <Fact name="Output">
          {formatCount(used.outputTokens)} tokens
          {used.reasoningTokens > 0n && `, ${formatCount(used.reasoningTokens)} of them reasoning`}
        </Fact>
        {used.estimated && <Fact name="Counted">Estimated: the provider did not report all of it.</Fact>}
        <Fact name="Cost">
          {cost === undefined ? (
            <span className="faint">no price for {model || 'the model'} in gateway.yaml</span>
          ) : (
            formatMoney(cost, currency)
          )}
        </Fact>
        {recorded !== undefined && (
          <>
            <Fact name="Outcome">{outcomes[recorded.outcome]}</Fact>
            <Fact name="Answered by">
              {recorded.accountId === '' ? 'no account' : `${recorded.model} with ${recorded.accountId}`}
            </Fact>
          </>
        )}
      </dl>
    </Panel>
  );
}

function RepeatPanel({ request }: { readonly request: RequestLogged }) {
  const [address] = usePublicAddress();
  const text = repeatAsCurl(request, address);
  return (
    <Panel title="Repeat it" aside={<CopyButton text={text} what="command" />}>
      <CodeBlock label="The command" text={text} />
      <p className="faint small">What was said is not kept: put a text of your own in. $TOKEN is a token of yours.</p>
    </Panel>
  );
}
