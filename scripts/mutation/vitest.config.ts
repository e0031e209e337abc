/** Tests that run one after another, each file in a process of its own, so that what each executes is known and a mutant ends with it. */
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
      // A mutant that lets a test wait for ever is noticed.
      testTimeout: 120_000,
      hookTimeout: 120_000
    }
  })
)
