#!/usr/bin/env bash
# Issues a token for the gateway in the current namespace, and runs the smoke test with it through the Service that clients use:
#   smoke-in-cluster.sh <small|full>
set -euo pipefail
pod=$([ "$1" = small ] && echo pod/gateway-0 || echo deployment/admin)
port=18080

# shellcheck disable=SC2016 # The variable is the pod's.
issue='GATEWAY_ADMIN_TOKEN=$ADMIN_TOKEN gatewayctl token create --label "smoke-$1" --output json'
GATEWAY_TOKEN=$(kubectl exec "$pod" -- sh -c "$issue" sh "$(date +%s)" | grep --only-matching --max-count 1 'gw_[A-Za-z0-9_]*')
export GATEWAY_TOKEN

kubectl port-forward service/gateway "$port:80" &
trap 'kill $!' EXIT
curl --silent --output /dev/null --retry 30 --retry-delay 1 --retry-connrefused "http://127.0.0.1:$port/v1/models"
node "$(dirname "${BASH_SOURCE[0]}")/../gateway-smoke.ts" --base-url "http://127.0.0.1:$port"
