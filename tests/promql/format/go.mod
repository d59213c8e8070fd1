module activescale.local/tests/promql/format

go 1.24
