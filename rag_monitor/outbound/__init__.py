"""HTTP to places users configure: guarded, bounded, never redirected."""
