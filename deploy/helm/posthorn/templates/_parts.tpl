{{- define "posthorn.labels" -}}
app.kubernetes.io/name: posthorn
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "posthorn.secret" -}}
{{- if .Values.existingSecret }}{{ .Values.existingSecret }}{{ else }}{{ .Release.Name }}{{ end }}
{{- end }}

{{- define "posthorn.configMap" -}}
{{- .Values.files.existingConfigMap | default (printf "%s-files" .Release.Name) }}
{{- end }}

{{- define "posthorn.hasFiles" -}}
{{- if or .Values.files.catalogue .Values.files.logo .Values.files.certificates }}true{{ end }}
{{- end }}

{{- /* The path of a file: its key in a config map of the user, or its name in ours. Takes (list root name ourKey). */}}
{{- define "posthorn.file" -}}
{{- $root := index . 0 }}
{{- if $root.Values.files.existingConfigMap }}/etc/posthorn/{{ index $root.Values.files (index . 1) }}{{ else }}/etc/posthorn/{{ index . 2 }}{{ end }}
{{- end }}

{{- define "posthorn.pod" -}}
automountServiceAccountToken: false
# A service named posthorn-platform would set POSTHORN_PLATFORM_PORT to a URL.
enableServiceLinks: false
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 1000
  seccompProfile: { type: RuntimeDefault }
{{- if include "posthorn.hasFiles" . }}
volumes:
  - name: files
    configMap: { name: {{ include "posthorn.configMap" . }} }
{{- end }}
{{- end }}

{{- define "posthorn.container" -}}
image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef: { name: {{ include "posthorn.secret" . }} }
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- if include "posthorn.hasFiles" . }}
volumeMounts:
  - { name: files, mountPath: /etc/posthorn, readOnly: true }
{{- end }}
{{- end }}

{{- /* Every setting from the values, as a map. Takes (dict root node). */}}
{{- define "posthorn.env" -}}
{{- $root := .root }}
{{- $env := dict }}
{{- with $root.Values.cell }}{{ $_ := set $env "POSTHORN_CELL" . }}{{ end }}
{{- if $root.Values.files.catalogue }}{{ $_ := set $env "POSTHORN_CATALOGUE" (include "posthorn.file" (list $root "catalogue" "catalogue.json")) }}{{ end }}
{{- if $root.Values.files.logo }}{{ $_ := set $env "POSTHORN_PORTAL_LOGO" (include "posthorn.file" (list $root "logo" "logo.svg")) }}{{ end }}
{{- if $root.Values.files.certificates }}{{ $_ := set $env "NODE_EXTRA_CA_CERTS" (include "posthorn.file" (list $root "certificates" "certificates.pem")) }}{{ end }}
{{- range $key, $value := merge (dict) (.node.env | default dict) $root.Values.env $env }}
- name: {{ $key }}
  value: {{ $value | quote }}
{{- end }}
{{- end }}
