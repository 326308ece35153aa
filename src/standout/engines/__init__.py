"""Who runs a plan. Engines know plans and shards; they know no attack."""
