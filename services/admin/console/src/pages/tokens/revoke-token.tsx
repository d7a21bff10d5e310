import { TokenService } from '@gateway/proto/admin/v1/token_service_pb.js';
import type { Token } from '@gateway/proto/identity/v1/identity_service_pb.js';
import { useChange } from '../../api/change.ts';
import { ConfirmDialog } from '../../ui/dialog.tsx';
import { useNotify } from '../../ui/notice.tsx';

export function RevokeToken({
  token: { tokenId, label },
  onClose,
}: {
  readonly token: Token;
  readonly onClose: () => void;
}) {
  const notify = useNotify();
  const { run, busy, problem } = useChange(TokenService.method.revokeToken, {
    onDone: () => {
      notify(`${label} was revoked.`);
      onClose();
    },
  });
  return (
    <ConfirmDialog
      title={`Revoke ${label}?`}
      confirmLabel="Revoke token"
      danger
      busy={busy}
      problem={problem}
      onConfirm={() => run({ tokenId })}
      onClose={onClose}
    >
      <p>
        The next request with it is refused with 401. Answers that have begun go on to their end. This cannot be undone;
        its usage stays.
      </p>
    </ConfirmDialog>
  );
}
