#!/bin/sh
# Starts the service that the first argument names, with the other arguments.
set -eu
service=${1:-all-in-one}
[ $# -eq 0 ] || shift
programs=$(cd "$(dirname "$0")/programs" && pwd)
main=$programs/$service/main.mjs
if [ ! -f "$main" ]; then
  echo "The image has no service $service. The first argument names one of: $(cd "$programs" && echo */main.mjs | sed 's,/main.mjs,,g')" >&2
  exit 1
fi
# The all-in-one runs without settings: operators reach it only inside the container, until TLS or
# ALLOW_PLAINTEXT is set.
if [ "$service" = all-in-one ] && [ -z "${TLS_CERT_FILE:-}${ALLOW_PLAINTEXT:-}" ]; then
  export ADMIN_HOST="${ADMIN_HOST:-127.0.0.1}"
fi
# `exec`: signals reach the service itself, so that it drains.
exec node "$main" "$@"
