{{/* Rules that several policies share. */}}

{{/* Who may read metrics. Takes the root. */}}
{{- define "sluice.metricsIngress" -}}
- ports: [{port: 9090}]
  {{- with .Values.networkPolicy.metricsFrom }}
  from:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* Ports of the API server: those of the values, and those at which this cluster has it, where helm can look. */}}
{{- define "sluice.apiServerPorts" -}}
{{- $ports := list -}}
{{- range .Values.networkPolicy.egress.apiServerPorts }}{{ $ports = append $ports (int .) }}{{ end -}}
{{- $found := lookup "discovery.k8s.io/v1" "EndpointSlice" "default" "kubernetes" | default dict -}}
{{- range $found.ports }}{{ $ports = append $ports (int .port) }}{{ end -}}
{{- $ports | uniq | toJson -}}
{{- end }}

{{/* What a program dials wherever it is: DNS, the API server if `apiServer`, and what the user adds. The addresses of
     both are the cluster's own affair; they may be no pods. Takes {root, apiServer}. */}}
{{- define "sluice.egressBasics" -}}
{{- $egress := .root.Values.networkPolicy.egress -}}
- ports:
    {{- range $egress.dnsPorts }}
    - {port: {{ int . }}, protocol: UDP}
    - {port: {{ int . }}, protocol: TCP}
    {{- end }}
    {{- if .apiServer }}
    {{- range include "sluice.apiServerPorts" .root | fromJsonArray }}
    - {port: {{ int . }}, protocol: TCP}
    {{- end }}
    {{- end }}
{{- with $egress.also }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Policies add up: one that leaves every port of an application open would undo those that close some. Takes a
     namespace. */}}
{{- define "sluice.refuseOtherPolicies" -}}
{{- $namespace := . -}}
{{- $found := lookup "networking.k8s.io/v1" "NetworkPolicy" $namespace "" | default dict -}}
{{- range $found.items -}}
{{- if and (ne .metadata.name "sluice-sidecars") (has "Ingress" (.spec.policyTypes | default list)) -}}
{{- fail (printf "networkPolicy.sidecars.namespaces: the policy %s in %s would be widened; see deploy/SECURITY.md" .metadata.name $namespace) -}}
{{- end -}}
{{- end -}}
{{- end }}
