"""The dashboard: the pages that the server shows to people, and how they sign in."""
