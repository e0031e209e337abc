import * as ServiceMetrics from "@effect-rl/core/rl/ServiceMetrics"
import { assert, describe, it } from "@effect/vitest"

describe("metrics that a backend reports", () => {
  it("have names of their own, so that none passes for the run's", () => {
    const reported = { reward: 9, step: -1, "env/all/reward/total": 9, grad_norm: 0.5, update_norm: 0.1 }
    assert.deepStrictEqual(ServiceMetrics.apart(reported), {
      "service/reward": 9,
      "service/step": -1,
      "service/env/all/reward/total": 9,
      grad_norm: 0.5,
      update_norm: 0.1
    })
  })

  it("are left out where they are not numbers", () => {
    assert.deepStrictEqual(ServiceMetrics.apart({ grad_norm: NaN, update_norm: Infinity, other: 1 }), {
      "service/other": 1
    })
  })
})
