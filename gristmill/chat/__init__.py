"""Conversations to rows."""
