/** Tests of which each file runs apart from the others, so that what it executes is known. */
import { defineConfig, mergeConfig } from "vitest/config"
import config from "../../vitest.config.ts"

export default mergeConfig(
  config,
  defineConfig({
    test: {
      isolate: true,
      setupFiles: ["./scripts/mutation/cover.ts"],
      root: new URL("../..", import.meta.url).pathname
    }
  })
)
