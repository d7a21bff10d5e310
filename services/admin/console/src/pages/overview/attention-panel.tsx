import { type Attention, Severity } from '@gateway/proto/admin/v1/system_service_pb.js';
import { Panel } from '../../frame/page.tsx';
import { Link } from '../../frame/routing.tsx';
import { Status } from '../../ui/status.tsx';

/** What needs a person, the most urgent first, each with the way there. */
export function AttentionPanel({ attention }: { readonly attention: readonly Attention[] }) {
  return (
    <Panel title="Needs a person" aside={attention.length === 0 ? undefined : attention.length}>
      {attention.length === 0 ? (
        <p className="row">
          <Status tone="good">Nothing</Status>
          <span className="faint">Every account that should serve can, and every replica is ready.</span>
        </p>
      ) : (
        <ul className="attention">
          {attention.map(({ severity, text, link }) => (
            <li key={text}>
              <Status tone={severity === Severity.CRITICAL ? 'bad' : 'warn'}>
                {severity === Severity.CRITICAL ? 'Now' : 'Soon'}
              </Status>
              <span>{link === '' ? text : <Link to={link}>{text}</Link>}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  );
}
