module github.com/rivo/uniseg

go 1.26.0

require github.com/clipperhouse/uax29/v2 v2.7.0
