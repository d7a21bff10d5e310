import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { consequences } from '@gateway/adapter-kit';
import { describe, expect, it } from 'vitest';
import { errorCodes, meaningOfCode, relayedErrorCodes } from './error-codes.ts';
import { mapStreamError, mapUpstreamError } from './map-upstream-error.ts';

/** Errors of endpoints that the gateway does not call. */
const elsewhere: readonly string[] = [
  'already_member',
  'bundle_attachment_not_supported',
  'bundle_on_call',
  'cannot_invite_emails_with_unverified_domains',
  'cannot_remove_last_member',
  'cannot_sign_out_managed_member',
  'cannot_sign_out_membership_admin',
  'cannot_sign_out_owner',
  'cannot_sign_out_primary_owner',
  'cannot_sign_out_privileged_member',
  'cannot_sign_out_self',
  'claude_tag_writes_not_enabled',
  'cmek_feature_unsupported',
  'compliance_configuration_restricted',
  'concurrent_membership_change',
  'email_domain_not_allowed',
  'environment_archived',
  'environment_create_disabled',
  'environment_not_found',
  'environment_update_disabled',
  'external_key_changed',
  'external_key_in_workspace_policy',
  'external_key_validation_failed',
  'external_key_validation_timed_out',
  'heartbeat_precondition_failed',
  'invalid_config_type_change',
  'invalid_metadata',
  'invite_already_exists',
  'key_profile_mismatch',
  'org_api_key_limit_exceeded',
  'org_member_limit_exceeded',
  'organization_level_scoped_api_key_required',
  'plugin_name_taken',
  'rbac_group_grants_owner_access',
  'rbac_group_managed_settings_not_found',
  'rbac_group_not_found',
  'rbac_group_order_limit_exceeded',
  'rbac_group_owner_access_unconfirmed',
  'rbac_role_not_found',
  'registration_pending',
  'scan_failed',
  'scan_pending',
  'settings_document_limit_exceeded',
  'settings_history_limit_exceeded',
  'skill_name_taken',
  'slack_channel_set_up_environment_not_found',
  'slack_channel_set_up_settings_conflict',
  'slack_channel_set_up_settings_refused',
  'spend_limits_admin_api_writes_not_enabled',
  'storage_quota_exceeded',
  'workspace_api_key_limit_exceeded',
  'workspace_member_limit_exceeded',
  'workspace_policy_violation',
];

const sdkSources = fileURLToPath(new URL('./src/', import.meta.resolve('@anthropic-ai/sdk')));

const read = (path: string) => readFileSync(`${sdkSources}${path}`, 'utf8');

/** The status, code and class of every error that the library knows. */
const known = [...read('core/error-classes.ts').matchAll(/\['(\d{3}) (\w+)', (\w+)\]/g)].map(
  ([, status, code = '', className = '']) => ({ status: Number(status), code, className }),
);

/** The classes that the library's methods for messages say they throw. */
const thrownClasses = new Set(
  ['resources/messages/messages.ts', 'resources/beta/messages/messages.ts'].flatMap((path) =>
    [...read(path).matchAll(/@throws \{(\w+)\}/g)].map(([, name = '']) => name),
  ),
);
const thrown = known.filter(({ className }) => thrownClasses.has(className));

describe('the error codes of a Messages provider', () => {
  it('are those of the installed client library, and some more: a new one must be entered here', () => {
    expect(known.length).toBeGreaterThanOrEqual(90);
    expect(known.filter(({ code }) => !errorCodes.has(code) && !elsewhere.includes(code))).toEqual([]);
    expect(thrown.length).toBe(thrownClasses.size);
    expect(thrown.filter(({ code }) => !errorCodes.has(code))).toEqual([]);
  });

  it.each(thrown)('decide before type and text, whatever the status: $status $code', ({ status, code }) => {
    const meaning = meaningOfCode(code);
    for (const type of ['invalid_request_error', 'permission_error', 'rate_limit_error', 'novel_error']) {
      const event = { type: 'error', error: { type, message: 'Words.', details: { error_code: code } } };
      const body = Buffer.from(JSON.stringify(event));
      expect(mapUpstreamError({ status, headers: {}, body, nowMs: 0 }).meaning).toBe(meaning);
      expect(mapStreamError(event).meaning).toBe(meaning);
    }
  });

  it('are relayed, except those that concern the gateway’s own accounts', () => {
    expect(relayedErrorCodes).toContain('image_dimensions_too_large');
    for (const [code, meaning] of errorCodes) {
      const { concern } = consequences[meaning];
      expect([code, relayedErrorCodes.has(code)]).toEqual([
        code,
        !['account', 'provider'].includes(concern) || meaning === 'limited',
      ]);
    }
  });

  it('of spend limits that are not known yet mean that the account has no credit', () => {
    expect(meaningOfCode('workspace_spend_limit_reached')).toBe('no_credit');
    expect(meaningOfCode('linked_organization_spend_limit_reached')).toBe('rejected');
    expect(meaningOfCode('novelty')).toBeUndefined();
  });
});
