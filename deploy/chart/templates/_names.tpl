{{/* One Ballast decides for a cluster, so its objects have fixed names: a second release is refused by helm. */}}
{{- define "ballast.labels" -}}
app.kubernetes.io/name: ballast
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
{{- end }}
{{- define "ballast.selector" -}}
app.kubernetes.io/name: ballast
{{- end }}
{{- define "ballast.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}
