"""Reports: one file per table or figure, and the renderers."""
