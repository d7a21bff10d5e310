import type { ErrorMeaning } from '@gateway/adapter-kit';

/**
 * The values of `error.details.error_code` with which a Messages provider may answer a request or a
 * count, by what they mean: those that the official client library names (`@throws`), and some
 * beside them. A test compares the table with the installed library, so that a new code is noticed.
 *
 * It answers two questions. `map-upstream-error` asks what an error concerns: the code decides
 * before status, type and text do. And clients receive the codes of `relayedErrorCodes` on
 * `/v1/messages`, because the library derives its error classes from these and recovers from some
 * of them.
 */
const codesByMeaning: Readonly<Partial<Record<ErrorMeaning, string>>> = {
  disabled_account: 'organization_on_hold',
  refused_account: `organization_type_not_supported parent_organization_required api_key_scope_missing
    claude_code_key_creator_not_member cmek_key_disabled cmek_key_network_blocked`,
  no_credit: 'contract_spend_limit_reached enforced_spend_limit_reached',
  limited: 'ramp_limit_exceeded',
  // Transient: the account pauses when it happens again and again.
  server_error: 'cmek_key_unreachable cmek_context_unavailable',
  network: 'sandbox_egress_restricted',
  // An account that has the beta may be next. The compaction failed for a transient reason, which
  // does not concern other requests.
  unavailable_choice: 'organization_not_enrolled_in_beta compaction_unavailable',
  too_large: 'request_body_too_large_after_decoding',
  rejected: `linked_organization_billing_unavailable linked_organization_spend_limit_reached
    user_profile_billing_not_authorized user_profile_not_billable user_profile_not_found user_profile_required
    available_tools_limit_exceeded claude_code_version_too_old image_dimensions_too_large
    compaction_block_ambiguous compaction_block_misplaced compaction_content_mismatch compaction_incomplete_turn
    compaction_nothing_to_summarize compaction_signature_invalid compaction_too_many_tool_references
    compaction_tool_changes_mismatch file_expired file_not_downloadable skill_read_blocked_undecryptable
    request_body_encoding_invalid request_body_encoding_unsupported request_body_timeout unsupported_charset
    thread_already_continued thread_continue_in_flight thread_fingerprint_mismatch thread_not_found
    thread_unsupported_request tool_name_conflict tool_reference_unresolved`,
};

export const errorCodes: ReadonlyMap<string, ErrorMeaning> = new Map(
  Object.entries(codesByMeaning).flatMap(([meaning, codes]) =>
    // Object.entries widens the keys, which are ErrorMeanings by the table's type.
    codes.split(/\s+/).map((code) => [code, meaning as ErrorMeaning] as const),
  ),
);

/**
 * Undefined for an unknown code. New codes of spend limits keep to the pattern of the known ones.
 */
export function meaningOfCode(code: string): ErrorMeaning | undefined {
  return errorCodes.get(code) ?? (code.endsWith('_spend_limit_reached') ? 'no_credit' : undefined);
}

/** What concerns the gateway's own accounts and network, and no client. */
const withheld: readonly ErrorMeaning[] = [
  'disabled_account',
  'refused_account',
  'no_credit',
  'server_error',
  'network',
];

export const relayedErrorCodes: ReadonlySet<string> = new Set(
  [...errorCodes].filter(([, meaning]) => !withheld.includes(meaning)).map(([code]) => code),
);
