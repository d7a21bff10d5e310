import { attemptWord, noAccountText, skippedTexts } from '@gateway/presentation';
import type { RequestRecorded } from '@gateway/proto/usage/v1/request_recorded_pb.js';
import { accountLink } from '../../frame/address.ts';
import { Link } from '../../frame/link.tsx';
import { Status } from '../../ui/status.tsx';
import { attemptText, attemptTone, wording } from './request-words.ts';

/**
 * Each account that was tried: why it was selected, why others were skipped, and the result of the
 * attempt.
 */
export function RequestDecisions({
  request: { attempts, noAccount, refusal, model },
}: {
  readonly request: RequestRecorded;
}) {
  if (attempts.length === 0 && noAccount === undefined) {
    return (
      <p className="faint">
        {refusal === undefined
          ? 'The request ended before account selection.'
          : 'A limit rejected the request before account selection.'}
      </p>
    );
  }
  return (
    <ol className="plain decisions">
      {attempts.map((attempt, index) => (
        <li key={attempt.asked}>
          <p className="row">
            <Link to={accountLink(attempt.accountId)}>{attempt.accountId}</Link>
            <span className="faint">{attempt.model}</span>
            <Status tone={attemptTone(attempt)}>{attemptWord(attempt).replaceAll('_', ' ')}</Status>
          </p>
          <p>{attemptText(attempt)}</p>
          <Skipped texts={skippedTexts(attempt.skipped, attempts.slice(0, index))} />
        </li>
      ))}
      {noAccount !== undefined && (
        <li>
          <p className="row">
            <Status tone="bad">No account</Status>
          </p>
          <p>{noAccountText(noAccount, attempts.length, wording)}</p>
          <Skipped texts={skippedTexts(noAccount.skipped, attempts)} />
          {model !== '' && (
            <Link to={`/pools?model=${encodeURIComponent(model)}`}>Which account would serve it now?</Link>
          )}
        </li>
      )}
    </ol>
  );
}

function Skipped({ texts }: { readonly texts: readonly string[] }) {
  if (texts.length === 0) return null;
  return (
    <>
      <p className="faint">Skipped accounts:</p>
      <ul className="skipped">
        {texts.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
    </>
  );
}
