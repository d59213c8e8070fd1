{{- define "activescale.name" -}}
{{- default .Release.Name .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end }}

{{- define "activescale.serviceAccount" -}}
{{- default (include "activescale.name" .) .Values.serviceAccount.name -}}
{{- end }}

{{- define "activescale.selector" -}}
app: {{ include "activescale.name" . }}
{{- end }}

{{- define "activescale.labels" -}}
{{ include "activescale.selector" . }}
app.kubernetes.io/name: activescale
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "activescale.check" -}}
{{- if and (gt (int .Values.replicas) 1) (not .Values.redis.address) }}
{{- fail "replicas > 1 needs a shared store: set redis.address, or keep one replica" }}
{{- end }}
{{- if not (has .Values.scaleAhead.mode (list "off" "observe" "on")) }}
{{- fail "scaleAhead.mode is off, observe or on (off and on in quotes)" }}
{{- end }}
{{- if not (has .Values.certificates.mode (list "self" "cert-manager" "existing")) }}
{{- fail "certificates.mode is self, cert-manager or existing" }}
{{- end }}
{{- if and (eq .Values.certificates.mode "existing") (not .Values.certificates.existingSecret) }}
{{- fail "certificates.mode=existing needs certificates.existingSecret" }}
{{- end }}
{{- end }}

{{- define "activescale.podRules" }}
  - apiGroups: [""]
    resources: [pods, services]
    verbs: [list, watch]
  - apiGroups: [apps]
    resources: [replicasets]
    verbs: [list, watch]
  - apiGroups: [batch]
    resources: [jobs]
    verbs: [list, watch]
  {{- if .Values.watchHPAs }}
  - apiGroups: [autoscaling]
    resources: [horizontalpodautoscalers]
    verbs: [list, watch]
  - apiGroups: [apps]
    resources: [deployments]
    verbs: [list, watch]
  {{- end }}
  {{- if ne .Values.scaleAhead.mode "off" }}
  - apiGroups: [autoscaling]
    resources: [horizontalpodautoscalers]
    verbs: [list, watch]
  - apiGroups: [apps]
    resources: [deployments, statefulsets]
    verbs: [list, watch]
  - apiGroups: [keda.sh]
    resources: [scaledobjects]
    verbs: [list, watch]
  - apiGroups: [events.k8s.io]
    resources: [events]
    verbs: [create]
  {{- end }}
  {{- if eq .Values.scaleAhead.mode "on" }}
  - apiGroups: [apps]
    resources:
      {{- range .Values.scaleAhead.targets }}
      - {{ . }}/scale
      {{- end }}
    verbs: [get, patch]
  {{- end }}
{{- end }}
