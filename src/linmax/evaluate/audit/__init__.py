"""Audits: what is counted and kept while a session learns a stream, which may stop and be resumed."""
