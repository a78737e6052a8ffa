"""deepeval's own conversational metrics as raters: they ask the judge through bedside's queue and store."""
