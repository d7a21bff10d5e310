{{/* The labels of a service, by its name. */}}
{{- define "model-gateway.labels" -}}
app.kubernetes.io/name: {{ . }}
app.kubernetes.io/part-of: model-gateway
{{- end }}

{{/* The scheme of calls between services. */}}
{{- define "model-gateway.scheme" -}}
{{ if eq .Values.transport "tls" }}https{{ else }}http{{ end }}
{{- end }}

{{/* The image of every container. */}}
{{- define "model-gateway.image" -}}
{{- if .Values.image.digest -}}
image: "{{ .Values.image.repository }}@{{ .Values.image.digest }}"
{{- else -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag }}"
{{- end }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
{{- end }}

{{/* The metadata of the pods of a service: its "name", and the values of all "pods". */}}
{{- define "model-gateway.podMetadata" -}}
labels:
  {{- include "model-gateway.labels" .name | nindent 2 }}
  {{- if .pods.labels }}
  {{- toYaml .pods.labels | nindent 2 }}
  {{- end }}
{{- if .pods.annotations }}
annotations:
  {{- toYaml .pods.annotations | nindent 2 }}
{{- end }}
{{- end }}

{{/* The service account of the pods. Empty: the default one of the namespace. */}}
{{- define "model-gateway.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name | default "model-gateway" }}
{{- else -}}
{{ .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The service account of pods that run before the chart creates one. */}}
{{- define "model-gateway.existingServiceAccountName" -}}
{{- if not .Values.serviceAccount.create -}}
{{ .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* What every pod has, with the "own" values of its service and its service "account": a numeric user, no token of the cluster, no variables named after Services. */}}
{{- define "model-gateway.podDefaults" -}}
automountServiceAccountToken: false
enableServiceLinks: false
imagePullSecrets:
  {{- toYaml .Values.imagePullSecrets | nindent 2 }}
{{- if .account }}
serviceAccountName: {{ .account | quote }}
{{- end }}
{{- $nodeSelector := merge (dict) .own.nodeSelector .Values.pods.nodeSelector }}
{{- if $nodeSelector }}
nodeSelector:
  {{- toYaml $nodeSelector | nindent 2 }}
{{- end }}
{{- $tolerations := concat .Values.pods.tolerations .own.tolerations }}
{{- if $tolerations }}
tolerations:
  {{- toYaml $tolerations | nindent 2 }}
{{- end }}
{{- $affinity := .own.affinity | default .Values.pods.affinity }}
{{- if $affinity }}
affinity:
  {{- toYaml $affinity | nindent 2 }}
{{- end }}
{{- if .Values.pods.priorityClassName }}
priorityClassName: {{ .Values.pods.priorityClassName | quote }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  runAsGroup: 1000
  fsGroup: 1000
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile:
    type: RuntimeDefault
{{- end }}

{{/* What every container has: a read-only root and no capability. */}}
{{- define "model-gateway.containerDefaults" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities:
    drop:
      - ALL
{{- end }}

{{/* Spreads the pods of a service, by its name, over nodes and zones. */}}
{{- define "model-gateway.spread" -}}
- maxSkew: 1
  topologyKey: kubernetes.io/hostname
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "model-gateway.labels" . | nindent 6 }}
- maxSkew: 1
  topologyKey: topology.kubernetes.io/zone
  whenUnsatisfiable: ScheduleAnyway
  labelSelector:
    matchLabels:
      {{- include "model-gateway.labels" . | nindent 6 }}
{{- end }}

{{/* The probes of a service with this transport. */}}
{{- define "model-gateway.probes" -}}
{{- include "model-gateway.probesOver" (include "model-gateway.scheme" . | upper) }}
{{- end }}

{{/* Liveness only asks whether the process answers: a restart does not help a pod that waits for a database. */}}
{{- define "model-gateway.probesOver" -}}
startupProbe:
  httpGet:
    path: /livez
    port: admin
    scheme: {{ . }}
  timeoutSeconds: 5
  periodSeconds: 2
  failureThreshold: 60
livenessProbe:
  httpGet:
    path: /livez
    port: admin
    scheme: {{ . }}
  timeoutSeconds: 5
  periodSeconds: 10
  failureThreshold: 6
readinessProbe:
  httpGet:
    path: /readyz
    port: admin
    scheme: {{ . }}
  timeoutSeconds: 5
  periodSeconds: 5
  failureThreshold: 2
{{- end }}

{{/* The resources of a "service" (its values) with "memoryMiB". Memory is requested in full: a pod within it is not evicted. */}}
{{- define "model-gateway.resources" -}}
requests:
  cpu: {{ .service.cpuRequest | quote }}
  memory: {{ .memoryMiB }}Mi
limits:
  cpu: {{ .service.cpuLimit | quote }}
  memory: {{ .memoryMiB }}Mi
{{- end }}

{{/* The certificates of a service, or plaintext where a mesh encrypts. */}}
{{- define "model-gateway.transportEnv" -}}
{{- if eq .Values.transport "tls" -}}
- name: TLS_CERT_FILE
  value: /etc/gateway/tls/tls.crt
- name: TLS_KEY_FILE
  value: /etc/gateway/tls/tls.key
- name: TLS_CA_FILE
  value: /etc/gateway/tls/ca.crt
{{- else -}}
- name: ALLOW_PLAINTEXT
  value: "true"
{{- end }}
{{- end }}

{{/* A pod waits for the Job that migrates the tables, since new code needs new tables. */}}
{{- define "model-gateway.waitForMigration" -}}
- name: wait-for-migration
  {{- include "model-gateway.image" . | nindent 2 }}
  args:
    - gatewayctl
    - migrate
    - --wait
  env:
    {{- if .Values.pods.env }}
    {{- toYaml .Values.pods.env | nindent 4 }}
    {{- end }}
    - name: NODE_OPTIONS
      value: --max-old-space-size=128
    - name: DATABASE_URL
      valueFrom:
        secretKeyRef:
          name: {{ .Values.secrets.database | quote }}
          key: DATABASE_URL
  resources:
    requests:
      cpu: 50m
      memory: 256Mi
    limits:
      cpu: "1"
      memory: 256Mi
  {{- include "model-gateway.containerDefaults" . | nindent 2 }}
  volumeMounts:
    - name: tmp
      mountPath: /tmp
    - name: backend-authorities
      mountPath: /etc/gateway/backends
      readOnly: true
{{- end }}

{{/* The disruption budget of a service, by its name. */}}
{{- define "model-gateway.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ . }}
  labels:
    {{- include "model-gateway.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels:
      {{- include "model-gateway.labels" . | nindent 6 }}
{{- end }}

{{/* The Service that clients reach: the name of its "pods", and the values of the "service". */}}
{{- define "model-gateway.publicService" -}}
apiVersion: v1
kind: Service
metadata:
  name: gateway
  labels:
    {{- include "model-gateway.labels" .pods | nindent 4 }}
  {{- if .service.annotations }}
  annotations:
    {{- toYaml .service.annotations | nindent 4 }}
  {{- end }}
spec:
  type: {{ .service.type }}
  selector:
    {{- include "model-gateway.labels" .pods | nindent 4 }}
  ports:
    - name: http
      port: 80
      targetPort: public
      protocol: TCP
      appProtocol: http
{{- end }}

{{/* The name of the pods that serve clients. */}}
{{- define "model-gateway.publicPods" -}}
{{ if eq .Values.form "small" }}gateway{{ else }}edge-router{{ end }}
{{- end }}

{{/* What a "claim" asks for, with the "storageClassName" of all claims. */}}
{{- define "model-gateway.volumeClaim" -}}
{{- if .storageClassName }}
{{- toYaml (merge (dict "storageClassName" .storageClassName) .claim) }}
{{- else }}
{{- toYaml .claim }}
{{- end }}
{{- end }}

{{/* The pods of a service, by its name, as a peer of a network policy. */}}
{{- define "model-gateway.podsOf" -}}
- podSelector:
    matchLabels:
      {{- include "model-gateway.labels" . | nindent 6 }}
{{- end }}

{{/* Allows calls to a "service" at a "port". */}}
{{- define "model-gateway.callsTo" -}}
- to:
    {{- include "model-gateway.podsOf" .service | nindent 4 }}
  ports:
    - protocol: TCP
      port: {{ .port }}
{{- end }}

{{/* Allows DNS lookups, wherever the cluster answers them: in pods, or on the node. */}}
{{- define "model-gateway.nameLookups" -}}
- ports:
    - protocol: UDP
      port: 53
    - protocol: TCP
      port: 53
{{- end }}

{{/* Allows calls to providers: everywhere but the addresses at which clouds hand out credentials of the machine. */}}
{{- define "model-gateway.toProviders" -}}
- to:
    - ipBlock:
        cidr: 0.0.0.0/0
        except:
          - 169.254.0.0/16
    - ipBlock:
        cidr: ::/0
  ports:
    {{- toYaml .Values.networkPolicies.providers | nindent 4 }}
{{- end }}
