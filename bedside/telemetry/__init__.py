"""Traces of what bedside does, for OpenTelemetry: off unless a caller asks for them (:func:`.tracing.traced`)."""
