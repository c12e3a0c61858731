package config

// presets are the commands of each toolchain.preset. What a preset blocks and
// rewrites is in package guard.
func presets() map[string]Toolchain {
	return map[string]Toolchain{
		"go": {
			Test: "go test ./...", Lint: "go vet ./...", Typecheck: "go vet ./...",
			Add: "go get", Sync: "go mod download",
		},
		"python-uv": {
			Test: "uv run pytest", Lint: "uv run ruff check .", Typecheck: "uv run mypy .",
			Add: "uv add", Sync: "uv sync",
		},
		"node-pnpm": {
			Test: "pnpm test", Lint: "pnpm run lint", Typecheck: "pnpm run typecheck",
			Add: "pnpm add", Sync: "pnpm install",
		},
		"rust": {
			Test: "cargo test", Lint: "cargo clippy", Typecheck: "cargo check",
			Add: "cargo add", Sync: "cargo fetch",
		},
	}
}

// Commands is the toolchain with every command that is empty taken from the
// preset; with preset none they stay empty.
func (t Toolchain) Commands() Toolchain {
	p := presets()[t.Preset]
	fill := func(own *string, preset string) {
		if *own == "" {
			*own = preset
		}
	}
	fill(&t.Test, p.Test)
	fill(&t.Lint, p.Lint)
	fill(&t.Typecheck, p.Typecheck)
	fill(&t.Add, p.Add)
	fill(&t.Sync, p.Sync)
	return t
}
