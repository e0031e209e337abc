/** Runs test files one after another, each in its own process, so executed code can be attributed and mutants do not leak. */
import { defineConfig, mergeConfig } from "vitest/config"
import config from "../../vitest.config.ts"

export default mergeConfig(
  config,
  defineConfig({
    root: new URL("../..", import.meta.url).pathname,
    test: {
      isolate: true,
      maxWorkers: 1,
      bail: 1,
      sequence: { concurrent: false },
      setupFiles: ["./scripts/mutation/cover.ts"],
      // A mutant that makes a test wait forever counts as noticed.
      testTimeout: 120_000,
      hookTimeout: 120_000
    }
  })
)
