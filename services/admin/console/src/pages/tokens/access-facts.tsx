import type { AccessRules } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { Fact } from '../../frame/page.tsx';

/** What a token or a group may use. */
export function AccessFacts({ access }: { readonly access: AccessRules | undefined }) {
  return (
    <>
      <Fact name="Models">
        <Codes of={access?.models} none="All" />
      </Fact>
      <Fact name="Accounts">
        <Codes of={access?.accountLabels} none="All" />
      </Fact>
    </>
  );
}

function Codes({ of = [], none }: { readonly of?: readonly string[] | undefined; readonly none: string }) {
  if (of.length === 0) return <span className="faint">{none}</span>;
  return (
    <span className="row">
      {of.map((text) => (
        <code key={text}>{text}</code>
      ))}
    </span>
  );
}
