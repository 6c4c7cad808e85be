"""The only place that knows sampler, judge, metric and store together."""
