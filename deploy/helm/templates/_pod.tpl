{{/* The parts that the pods of all our programs share. Each takes {root, component, values}, podMetadata also
     podLabels. */}}

{{- define "sluice.podMetadata" -}}
labels:
  {{- include "sluice.labels" . | nindent 2 }}
  sluice.dev/inject: "false"
{{- with .podLabels }}
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.podBasics" -}}
enableServiceLinks: false
{{- with .root.Values.image.pullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- define "sluice.podSecurity" -}}
runAsNonRoot: true
runAsUser: 65532
runAsGroup: 65532
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{- define "sluice.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* Replicas should stay on machines and in zones of their own; that they must would stop a rollout on few machines. */}}
{{- define "sluice.apart" -}}
{{- if gt (int .size.replicas) 1 -}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "sluice.selector" . | nindent 14 }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: topology.kubernetes.io/zone
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "sluice.selector" . | nindent 8 }}
{{- end }}
{{- end }}

{{- define "sluice.identityEnv" -}}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: POD_IP
  valueFrom: {fieldRef: {fieldPath: status.podIP}}
- name: SYSTEM_NAMESPACE
  valueFrom: {fieldRef: {fieldPath: metadata.namespace}}
- name: SLUICE_LOG_LEVEL
  value: {{ .root.Values.logLevel | quote }}
{{- end }}

{{- define "sluice.ownEnv" -}}
{{- range $name, $value := .values.env }}
- name: {{ $name }}
  value: {{ $value | toString | quote }}
{{- end }}
{{- end }}

{{/* Alive and ready, as every program but the activator reports on its own port. */}}
{{- define "sluice.sideProbes" -}}
livenessProbe:
  httpGet: {path: /livez, port: metrics}
  periodSeconds: 10
  timeoutSeconds: 3
  failureThreshold: 6
readinessProbe:
  httpGet: {path: /readyz, port: metrics}
  periodSeconds: 2
  timeoutSeconds: 2
  failureThreshold: 2
{{- end }}

{{- define "sluice.disruptionBudget" -}}
{{- if gt (int .size.replicas) 1 }}
---
# One at a time: a single replica gets none, or its node could never be drained.
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name | default .component }}
  namespace: {{ .namespace | default (include "sluice.namespace" .root) }}
  labels:
    {{- include "sluice.labels" . | nindent 4 }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      {{- include "sluice.selector" . | nindent 6 }}
{{- end }}
{{- end }}
