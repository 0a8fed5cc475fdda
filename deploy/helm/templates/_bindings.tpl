{{/* Binds the ClusterRole `sluice-NAME` and the Role `NAME` to the account NAME. Takes {root, component}. */}}
{{- define "sluice.bindings" }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: sluice-{{ .component }}
  labels:
    {{- include "sluice.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: sluice-{{ .component }}}
subjects:
  - {kind: ServiceAccount, name: {{ .component }}, namespace: {{ include "sluice.namespace" .root }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .component }}
  namespace: {{ include "sluice.namespace" .root }}
  labels:
    {{- include "sluice.labels" . | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ .component }}}
subjects:
  - {kind: ServiceAccount, name: {{ .component }}, namespace: {{ include "sluice.namespace" .root }}}
{{- end }}
