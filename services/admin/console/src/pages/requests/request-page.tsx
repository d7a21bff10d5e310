import { useQuery } from '@connectrpc/connect-query';
import {
  answererOf,
  formatCount,
  formatCountOf,
  hasFailedOver,
  moneyText,
  noModelText,
  noUsageText,
  type Outcome,
  outcomeOf,
  requestFacts,
  usedBy,
  verdictText,
} from '@gateway/presentation';
import { partTexts } from '@gateway/presentation/usage-parts';
import { PriceBook, unpricedIn } from '@gateway/prices';
import { ConfigurationService } from '@gateway/proto/admin/v1/configuration_service_pb.js';
import type { GetRequestResponse } from '@gateway/proto/admin/v1/request_service_pb.js';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { useParams } from 'wouter';
import { accountLink } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Fact, Page, Panel } from '../../frame/page.tsx';
import { CodeBlock } from '../../ui/code-block.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Empty, NoAnswer } from '../../ui/state.tsx';
import { Status } from '../../ui/status.tsx';
import { localDayOf, Time } from '../../ui/time.tsx';
import { usePublicAddress } from '../tokens/public-address.ts';
import { repeatAsCurl } from './repeat-as-curl.ts';
import { RequestDecisions } from './request-decisions.tsx';
import { requestsLink, sentence } from './request-search.ts';
import { RequestWaterfall } from './request-waterfall.tsx';
import { endingOf, wording } from './request-words.ts';
import { useRequest } from './use-request.ts';
import './requests.css';

/** One request from admission to ledger. */
export function RequestPage() {
  const { requestId = '' } = useParams();
  const { data, error, refetch, mayRun } = useRequest(requestId);
  return (
    <Page title="Request" about={<Link to="/requests">All requests</Link>}>
      {data !== undefined ? (
        <Known answer={data} />
      ) : mayRun ? (
        <MayRun requestId={requestId} />
      ) : (
        <NoAnswer
          of={{ error, refetch }}
          what="the request"
          notFound={
            <Empty title={`No request with the id “${requestId}”`}>
              The request id is in the x-request-id response header and in the id of a chat completion. The log keeps
              requests for a limited number of days.{' '}
              <Link to={requestsLink({ id: requestId })}>Search for ids that begin with it</Link>
            </Empty>
          }
        />
      )}
    </Page>
  );
}

/** Shown for a recent id that the log does not have. */
function MayRun({ requestId }: { readonly requestId: string }) {
  return (
    <div role="status">
      <Empty title="This request is still running, or the id is unknown.">
        The log has requests when they end. This page looks again for a quarter of an hour; reload it to look later.{' '}
        <Link to={requestsLink({ id: requestId })}>Search for ids that begin with it</Link>
      </Empty>
    </div>
  );
}

function Known({ answer: { request: listing, inLedger, loggedAtMs } }: { readonly answer: GetRequestResponse }) {
  const request = listing?.request;
  if (request === undefined) return null;
  const isLogged = request.receivedAtMs !== undefined;
  return (
    <>
      {isLogged && (
        <>
          <Summary request={request} tokenLabel={listing?.tokenLabel ?? ''} />
          <Panel title="Timeline" wide>
            <RequestWaterfall request={request} loggedAtMs={loggedAtMs} />
          </Panel>
          <Panel title="Routing decisions" wide>
            <RequestDecisions request={request} />
          </Panel>
        </>
      )}
      <div className="panels">
        <UsagePanel request={request} inLedger={inLedger} />
        {isLogged && <RepeatPanel request={request} />}
      </div>
    </>
  );
}

function Summary({ request, tokenLabel }: { readonly request: RequestRecorded; readonly tokenLabel: string }) {
  const { requestId, receivedAtMs, tokenId, endpoint, model, errorCode, slow } = request;
  const { tone, text } = endingOf(request);
  const verdict = verdictText(request, wording);
  return (
    <section className="panel" aria-label="Summary">
      <p className="row ending">
        <Status tone={tone}>{text}</Status>
        {errorCode !== '' && <code>{errorCode}</code>}
        {hasFailedOver(request) && <Status tone="info">Failed over</Status>}
        {slow && <Status tone="warn">Slow first token</Status>}
      </p>
      {verdict !== '' && <p className="verdict">{verdict}</p>}
      <dl className="facts">
        <Fact name="Id">
          <code>{requestId}</code> <CopyButton text={requestId} what="request id" />
        </Fact>
        {requestFacts(request).map(([name, text]) => (
          <Fact key={name} name={sentence(name)}>
            <code>{text}</code>
          </Fact>
        ))}
        <Fact name="Received">
          <Time at={receivedAtMs} />
        </Fact>
        <Fact name="Token">
          <Link to={`/tokens/${tokenId}`}>{tokenLabel || tokenId}</Link>
        </Fact>
        <Fact name="Model">
          {model === '' ? noModelText(request) : <code>{model}</code>} at <code>{endpoint}</code>
        </Fact>
        <AnswererFact request={request} />
      </dl>
    </section>
  );
}

/** The account that answered, or the one that was tried last. */
function AnswererFact({ request }: { readonly request: RequestRecorded }) {
  const answerer = answererOf(request);
  if (answerer === undefined) return <Fact name="Answered by">No account</Fact>;
  const { label, accountId, model } = answerer;
  return (
    <Fact name={label}>
      <Link to={accountLink(accountId)}>{accountId}</Link>, <code>{model}</code>
    </Fact>
  );
}

const outcomes: Readonly<Record<Outcome, string>> = {
  completed: 'Completed',
  aborted: 'Client disconnected',
  failed: 'Failed mid-stream',
  lost: 'Lost when its edge stopped: its tokens count, but not as a request',
};

function UsagePanel({ request, inLedger }: { readonly request: RequestRecorded; readonly inLedger: boolean }) {
  const configuration = useQuery(ConfigurationService.method.getConfiguration, {}, { staleTime: 60_000 });
  const attempt = usedBy(request);
  if (attempt === undefined) {
    return (
      <Panel title="Usage">
        <p className="faint">{noUsageText(request)}</p>
      </Panel>
    );
  }
  const { prices = [], specialPrices = [], currency = '' } = configuration.data?.file ?? {};
  const { usage: used, model, costMicros: frozen } = attempt;
  const book = new PriceBook({ currency, prices, specialPrices });
  const unpriced = unpricedIn(used.parts);
  // The usual price of today is not that of what was served otherwise.
  const cost = frozen ?? (used.parts.length > 0 ? undefined : book.costOf(model, used, localDayOf(Date.now())));
  return (
    <Panel
      title="Usage"
      aside={
        inLedger
          ? `In the ledger, day ${request.localDay} (Amsterdam)`
          : 'From the request log; no longer in the ledger'
      }
    >
      <dl className="facts">
        <Fact name="Input">
          {formatCountOf(used.inputTokens, 'token')}
          {used.cachedTokens > 0 && `, ${formatCount(used.cachedTokens)} cached`}
          {used.cacheWrite5mTokens > 0 && `, ${formatCount(used.cacheWrite5mTokens)} written to a cache for 5 minutes`}
          {used.cacheWrite1hTokens > 0 && `, ${formatCount(used.cacheWrite1hTokens)} written to a cache for an hour`}
        </Fact>
        <Fact name="Output">
          {formatCountOf(used.outputTokens, 'token')}
          {used.reasoningTokens > 0 && `, ${formatCount(used.reasoningTokens)} reasoning`}
        </Fact>
        {used.estimated && <Fact name="Counted">Estimated: the provider did not report complete usage.</Fact>}
        <Fact name="Cost">
          {cost === undefined ? (
            <span className="faint">No price for {model || 'the model'} in gateway.yaml</span>
          ) : (
            <>
              {moneyText(cost, currency)}
              {frozen === undefined && <span className="faint"> computed afterwards, at today's prices</span>}
            </>
          )}
          {unpriced.tokens > 0 && `, ${formatCountOf(unpriced.tokens, 'token')} without a price`}
          {unpriced.calls > 0 && `, ${formatCountOf(unpriced.calls, 'tool call')} without a price`}
        </Fact>
        {used.parts.length > 0 && (
          <Fact name="Parts">
            {partTexts(used.parts, { count: formatCount, money: (micros) => moneyText(micros, currency) }).join('; ')}
          </Fact>
        )}
        {inLedger && <Fact name="Ledger outcome">{outcomes[outcomeOf(request)]}</Fact>}
        {request.receivedAtMs === undefined && <AnswererFact request={request} />}
      </dl>
    </Panel>
  );
}

function RepeatPanel({ request }: { readonly request: RequestRecorded }) {
  const [address] = usePublicAddress();
  const text = repeatAsCurl(request, address);
  return (
    <Panel title="Repeat this request" aside={<CopyButton text={text} what="command" />}>
      <CodeBlock label="Command" text={text} />
      <p className="faint small">
        The gateway does not store prompts: insert your own text. Set GATEWAY_TOKEN to one of your tokens.
      </p>
    </Panel>
  );
}
