#!/usr/bin/env bash
# Installs or upgrades the gateway in the current namespace, with simulated providers, and waits until it takes requests:
#   install-and-wait.sh <small|full> <manifests|chart> <overlay> <image>
# The chart of the full form needs cert-manager and the backends of the development overlay.
set -euo pipefail
form=$1 by=$2 overlay=$3 image=$4
tag=${image##*:}
chart=$(dirname "${BASH_SOURCE[0]}")/../../kubernetes/chart

install_manifests() {
  # As the manifests of the version would be: they name its image and, after it, the migration.
  kubectl kustomize "$overlay" |
    sed --expression "s|\(image: model-gateway\):.*|\1:$tag|" --expression "s|\(name: migrate\)-.*|\1-${tag//./-}|" |
    kubectl apply --filename -
}

install_chart() {
  local values=(--set "form=$form,image.tag=$tag")
  if [ "$form" = full ]; then values+=(--values "$chart/ci/development-values.yaml" --set transport=tls); fi
  helm upgrade --install gateway "$chart" "${values[@]}" --timeout 15m
}

"install_$by"
if [ "$form" = small ]; then
  kubectl rollout status statefulset/gateway --timeout 10m
else
  # The chart's hook has waited for it, and Helm may have removed it.
  if [ "$by" = manifests ]; then kubectl wait --for=condition=complete "job/migrate-${tag//./-}" --timeout 10m; fi
  for workload in $(kubectl get deployments,statefulsets --output name); do kubectl rollout status "$workload" --timeout 15m; done
fi
