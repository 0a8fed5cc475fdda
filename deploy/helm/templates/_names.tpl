{{/* The namespace of the installation: see values.yaml, `namespace`. */}}
{{- define "sluice.namespace" -}}
{{- if .Values.namespace -}}{{ .Values.namespace }}
{{- else if eq .Release.Namespace "default" -}}sluice-system
{{- else -}}{{ .Release.Namespace }}
{{- end -}}
{{- end }}

{{- define "sluice.version" -}}{{ .Values.image.tag | default .Chart.AppVersion }}{{- end }}

{{/* Labels that choose pods; they never change. Takes {root, component}. */}}
{{- define "sluice.selector" -}}
app.kubernetes.io/name: {{ .component }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/part-of: sluice
{{- end }}

{{/* Labels of every object. Takes {root, component}. */}}
{{- define "sluice.labels" -}}
{{ include "sluice.selector" . }}
app.kubernetes.io/component: {{ .component }}
app.kubernetes.io/version: {{ include "sluice.version" .root | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
{{- with .root.Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "sluice.image" -}}
{{ .root.Values.image.registry | trimSuffix "/" }}/{{ .component }}:{{ include "sluice.version" .root }}
{{- end }}

{{/* What the profile says of a component, with what values say over it. Takes {root, component, values}. */}}
{{- define "sluice.size" -}}
{{- $profiles := .root.Files.Get "files/profiles.yaml" | fromYaml -}}
{{- $size := index $profiles .root.Values.profile .component -}}
{{- if kindIs "invalid" .values.replicas | not }}{{ $_ := set $size "replicas" .values.replicas }}{{ end -}}
{{- if .values.resources }}{{ $_ := set $size "resources" .values.resources }}{{ end -}}
{{- toYaml $size -}}
{{- end }}

{{- define "sluice.buckets" -}}{{ .Values.autoscaler.leaderElection.buckets | default 1 }}{{- end }}

{{/* Where activators are, and their name there: beside us, and for Knative beside its own, for a Service leads only to
     pods of its namespace. */}}
{{- define "sluice.activators" -}}
- {name: activator, namespace: {{ include "sluice.namespace" . | quote }}, knative: false}
{{- if .Values.knative.activators }}
- {name: sluice-activator, namespace: {{ .Values.knative.namespace | quote }}, knative: true}
{{- end }}
{{- end }}

{{/* Knative's own autoscaler, while its Service `autoscaler` leads to ours. */}}
{{- define "sluice.statsRelay" -}}
{{- $service := printf "knative-autoscaler.%s.svc.%s:8080" .Values.knative.namespace .Values.clusterDomain -}}
{{ .Values.knative.statsRelay | default $service }}
{{- end }}

{{- define "sluice.autoscalerHost" -}}
autoscaler.{{ include "sluice.namespace" . }}.svc.{{ .Values.clusterDomain }}
{{- end }}

{{/* Where the autoscaler's streams are, and where node agents get certificates for them. */}}
{{- define "sluice.autoscalerAddress" -}}{{ include "sluice.autoscalerHost" . }}:8081{{- end }}
{{- define "sluice.enrollAddress" -}}{{ include "sluice.autoscalerHost" . }}:8083{{- end }}

{{/* Where the pods of our programs find the certificates of their streams. */}}
{{- define "sluice.tlsDirectory" -}}/etc/sluice/tls{{- end }}

{{/* Where the certificates of the streams come from: `made` by the autoscaler, `given` by the user, or `none`. */}}
{{- define "sluice.certificates" -}}
{{- $tls := .Values.tls -}}
{{- if and (or $tls.secret $tls.activatorSecret) (not $tls.enabled) -}}
{{- fail "tls.secret and tls.activatorSecret need tls.enabled=true" -}}
{{- end -}}
{{- if ne (empty $tls.secret) (empty $tls.activatorSecret) -}}
{{- fail "tls.secret and tls.activatorSecret go together: the autoscaler's certificate and the activators'" -}}
{{- end -}}
{{- if not $tls.enabled -}}none{{- else if $tls.secret -}}given{{- else -}}made{{- end -}}
{{- end }}

{{/* Namespace and labels of what the Prometheus operator reads; `labels` are those that choose it. */}}
{{- define "sluice.monitorMetadata" -}}
namespace: {{ include "sluice.namespace" .root }}
labels:
  {{- include "sluice.labels" (dict "root" .root "component" "monitoring") | nindent 2 }}
  {{- with .labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
