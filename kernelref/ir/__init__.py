"""What a kernel means: dtypes, index expressions, views, ShapeTrackers, ASTs."""
