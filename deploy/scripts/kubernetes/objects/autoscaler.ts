import type { IHorizontalPodAutoscaler } from 'kubernetes-models/autoscaling/v2';
import type { Service } from '../services.ts';
import type { Values } from '../values.ts';
import { metadataOf } from './labels.ts';

/**
 * The edge's metric of streams in progress, which an adapter of the metrics API must offer per pod.
 */
const openStreams = 'gateway_open_streams';

/**
 * Adds replicas under load. If there are several metrics, the one that demands most replicas
 * counts; a missing metric is ignored.
 */
export function autoscaler(service: Service, values: Values): IHorizontalPodAutoscaler {
  const { replicas, maxReplicas } = values.services[service.key];
  const { cpu, metric, streamsPerEdge } = values.autoscaling;
  return {
    apiVersion: 'autoscaling/v2',
    kind: 'HorizontalPodAutoscaler',
    metadata: metadataOf(service.name),
    spec: {
      scaleTargetRef: {
        apiVersion: 'apps/v1',
        kind: service.keepsData ? 'StatefulSet' : 'Deployment',
        name: service.name,
      },
      minReplicas: replicas,
      maxReplicas,
      metrics: [
        ...(service.keepsData && metric === 'openStreams'
          ? [
              {
                type: 'Pods' as const,
                pods: {
                  metric: { name: openStreams },
                  target: { type: 'AverageValue' as const, averageValue: String(streamsPerEdge) },
                },
              },
            ]
          : []),
        { type: 'Resource', resource: { name: 'cpu', target: { type: 'AverageValue', averageValue: cpu } } },
      ],
      // A removed replica drains for as long as its longest stream: short quiet periods must not
      // remove one.
      behavior: {
        scaleUp: { policies: [{ type: 'Percent', value: 100, periodSeconds: 30 }] },
        scaleDown: {
          stabilizationWindowSeconds: 600,
          policies: [{ type: 'Pods', value: 1, periodSeconds: 120 }],
        },
      },
    },
  };
}
