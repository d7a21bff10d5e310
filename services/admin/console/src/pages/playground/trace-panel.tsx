import { Role } from '@gateway/proto/admin/v1/operator_service_pb.js';
import { useSigned } from '../../api/session.tsx';
import { Link } from '../../frame/link.tsx';
import { Panel } from '../../frame/page.tsx';
import { NoAnswer } from '../../ui/state.tsx';
import { RequestDecisions } from '../requests/request-decisions.tsx';
import { RequestWaterfall } from '../requests/request-waterfall.tsx';
import { useRequest } from '../requests/use-request.ts';
import type { Run } from './use-relay.ts';
import '../requests/requests.css';

/** Where the request went and why, from the request log. It is only for operators. */
export function TracePanel({ run }: { readonly run: Run | undefined }) {
  const { may } = useSigned();
  const requestId = run?.headers.get('x-request-id');
  const isOver = run !== undefined && run.state !== 'waiting' && run.state !== 'receiving';
  return (
    <Panel
      title="Decision trace"
      aside={
        requestId !== undefined &&
        isOver &&
        may(Role.VIEWER) && <Link to={`/requests/${requestId}`}>Whole request</Link>
      }
    >
      {!may(Role.VIEWER) ? (
        <p className="faint">
          Only operators see which accounts were tried, and why. They find this request by its x-request-id.
        </p>
      ) : requestId === undefined || !isOver ? (
        <p className="faint">The log has a request when it has ended.</p>
      ) : (
        <Trace requestId={requestId} />
      )}
    </Panel>
  );
}

function Trace({ requestId }: { readonly requestId: string }) {
  const { data, error, refetch } = useRequest(requestId);
  const request = data?.request?.request;
  if (request === undefined) return <NoAnswer of={{ error, refetch }} what="the trace" notFound={notLogged} />;
  return (
    <div className="stack">
      <RequestWaterfall request={request} loggedAtMs={data?.loggedAtMs} />
      <RequestDecisions request={request} />
    </div>
  );
}

const notLogged = <p className="faint">The log has no such request.</p>;
