import * as KernelModule from "@effect-rl/engine/runtime/KernelModule"
import { assert, it } from "@effect/vitest"

/** V8 combines vectors only on x64, in the versions of Node 24 to 26. */
const isPossible = process.arch === "x64" && ["13", "14"].includes(process.versions.v8.split(".")[0] ?? "")

it("kernels have wide vectors on x64 if requested, and are compiled once", () => {
  const wide = KernelModule.compile(true)
  assert.strictEqual(wide.vectorBits, isPossible ? 256 : 128)
  assert.strictEqual(KernelModule.compile(true), wide)
  const narrow = KernelModule.compile(false)
  assert.strictEqual(narrow.vectorBits, 128)
  assert.strictEqual(KernelModule.compile(false), narrow)
})
